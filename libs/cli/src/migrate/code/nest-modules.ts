import type * as ts from 'typescript';
import type { EditedFile } from './edited-file';
import type { Project } from './project';

/** Code for the address of Redis, for an app whose own address cannot be read from its code. */
export const DEFAULT_URL = "process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'";

/** A module for the `imports` of a Nest module. */
export interface NestModule {
  /** Path to import the module from, such as `luanest/lock`. */
  readonly from: string;
  readonly name: string;
  /** Code of the module in `imports`, such as `LockModule.forRoot()`. */
  readonly call: string;
}

/** Returns a list with ScriptRegistryModule; an empty list if the app imports it already. @param options code such as `{ url: ... }` */
export function registryModule(project: Project, options = `{ url: ${DEFAULT_URL} }`): NestModule[] {
  const from = 'luanest/script-registry';
  if (project.imports(from, 'ScriptRegistryModule')) return [];
  return [{ from, name: 'ScriptRegistryModule', call: `ScriptRegistryModule.forRoot(${options})` }];
}

/** Adds modules to the `imports` of a Nest module, before one of its elements. */
export function addBefore(file: EditedFile, element: ts.Node, modules: readonly NestModule[]): void {
  if (modules.length === 0) return;
  const calls = callsOf(file, modules);
  const indent = file.indentAt(element.getStart());
  const start = file.startWithComments(element);
  const line = file.text.lastIndexOf('\n', start - 1) + 1;
  const own = file.text.slice(line, start).trim() === '';
  const separator = own ? `,\n${indent}` : ', ';
  file.add({ start, end: start, text: calls.map((call) => call + separator).join('') });
}

/**
 * Imports the modules in a file.
 *
 * @returns the code of each module, such as `LockModule.forRoot()`, with the quotes that the file uses
 */
function callsOf(file: EditedFile, modules: readonly NestModule[]): string[] {
  for (const { from, name } of modules) file.imports.want(from, name);
  const quote = file.imports.quoted('')[0] ?? "'";
  return modules.map(({ call }) => call.replaceAll("'", quote));
}

/** Adds modules to the root module of the app. @returns false if there is no root module that can be changed */
export function addToRoot(project: Project, modules: readonly NestModule[]): boolean {
  if (modules.length === 0) return true;
  const { syntax } = project;
  const root = project.rootModule();
  const options = root && syntax.object(syntax.decorator(root.type, 'Module')?.arguments[0]);
  if (!root || !options) return false;
  const { file } = root;
  const given = syntax.property(options, 'imports');
  const list = syntax.array(syntax.value(options, 'imports'));
  if (given && !list) return false;
  const [first] = list?.elements ?? [];
  if (list && first && file.text.slice(list.getStart(), first.getStart()).includes('\n')) {
    addBefore(file, first, modules);
    return true;
  }
  // One line would be too long with the new modules, so each module gets its own line.
  const indent = `${file.indentAt((list ?? options.properties[0] ?? options).getStart())}  `;
  const open = `[\n${indent}${callsOf(file, modules).join(`,\n${indent}`)},\n`;
  const close = `${indent.slice(2)}]`;
  if (list && first) {
    file.add({ start: list.getStart(), end: first.getStart(), text: open + indent });
    file.add({ start: list.elements.end, end: list.end, text: `,\n${close}` });
  } else if (list) file.replace(list, open + close);
  else addProperty(file, options, `imports: ${open}${close}`);
  return true;
}

/** Adds a property at the beginning of an object. */
export function addProperty(file: EditedFile, object: ts.ObjectLiteralExpression, text: string): void {
  const [first] = object.properties;
  if (!first) return file.replace(object, `{ ${text} }`);
  const start = first.getStart();
  const multiline = file.text.slice(object.getStart(), start).includes('\n');
  file.add({ start, end: start, text: multiline ? `${text},\n${file.indentAt(start)}` : `${text}, ` });
}

/** Adds an element at the end of an array, or a property at the end of an object. */
export function append(
  file: EditedFile,
  list: { readonly elements?: ts.NodeArray<ts.Node>; readonly properties?: ts.NodeArray<ts.Node> } & ts.Node,
  text: string,
): void {
  const last = (list.elements ?? list.properties)?.at(-1);
  if (!last) return file.add({ start: list.end - 1, end: list.end - 1, text: list.properties ? ` ${text} ` : text });
  const multiline = file.text.slice(list.getStart(), last.getStart()).includes('\n');
  file.add({
    start: last.end,
    end: last.end,
    text: multiline ? `,\n${file.indentAt(last.getStart())}${text}` : `, ${text}`,
  });
}
