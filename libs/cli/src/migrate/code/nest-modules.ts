import type * as ts from 'typescript';
import type { EditedFile } from './edited-file';
import type { Project } from './project';

/** Where the address of Redis comes from if the app does not say it. */
export const DEFAULT_URL = "process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'";

/** A module for the `imports` of a Nest module. */
export interface NestModule {
  /** Such as `luanest/lock`. */
  readonly from: string;
  readonly name: string;
  /** Such as `LockModule.forRoot()`. */
  readonly call: string;
}

/** ScriptRegistryModule, unless the app has it. @param options such as `{ url: ... }` */
export function registryModule(project: Project, options = `{ url: ${DEFAULT_URL} }`): NestModule[] {
  const from = 'luanest/script-registry';
  if (project.imports(from, 'ScriptRegistryModule')) return [];
  return [{ from, name: 'ScriptRegistryModule', call: `ScriptRegistryModule.forRoot(${options})` }];
}

/** Adds modules before an element of a list of imports. */
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

/** Imports the modules. @returns their calls, with the quotes of the file */
function callsOf(file: EditedFile, modules: readonly NestModule[]): string[] {
  for (const { from, name } of modules) file.imports.want(from, name);
  const quote = file.imports.quoted('')[0] ?? "'";
  return modules.map(({ call }) => call.replaceAll("'", quote));
}

/** Adds modules to the root module of the app. @returns false if there is none that can be changed */
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
  // The list was on one line. With the modules it is too long for that.
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

/** Adds a property in front of the others of an object. */
export function addProperty(file: EditedFile, object: ts.ObjectLiteralExpression, text: string): void {
  const [first] = object.properties;
  if (!first) return file.replace(object, `{ ${text} }`);
  const start = first.getStart();
  const multiline = file.text.slice(object.getStart(), start).includes('\n');
  file.add({ start, end: start, text: multiline ? `${text},\n${file.indentAt(start)}` : `${text}, ` });
}

/** Adds an element, or a property, after the others. */
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
