import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import { addProperty, append } from '../code/nest-modules';
import type { Project } from '../code/project';
import type { Migration } from '../migration';
import { factoryOf, moduleCall } from './module-calls';
import { THROTTLER } from './rules';
import { addRegistry } from './throttler';

const FROM = 'luanest/rate-limit/throttler-storage';
const STORAGE = 'RateLimitThrottlerStorage';
const MODULE = 'RateLimitThrottlerStorageModule.forRoot()';

/**
 * Codemod `luanest migrate throttler --storage-only`: keeps the guard and decorators of @nestjs/throttler, and makes them count in Redis.
 */
export const storageOnly: Migration = {
  guide: 'from-throttler.md',
  afterwards: ['npm install luanest ioredis'],
  migrate(project) {
    const { syntax } = project;
    if (project.imports(FROM, STORAGE)) return;
    for (const file of project.importing(THROTTLER)) {
      const local = file.imports.local(THROTTLER, 'ThrottlerModule');
      for (const call of syntax.all(file.source, syntax.ts.isCallExpression)) {
        const method = moduleCall(call, local);
        if (method === undefined) continue;
        const converted = method === 'forRoot' ? fromRoot(file, project, call) : fromRootAsync(file, project, call);
        if (!converted) {
          file.note(
            call,
            'must',
            `\`storage\` was not added, because the options of this call of ${method} are not an object literal. Add \`storage\` by hand`,
          );
          continue;
        }
        addRegistry(file, project, call);
        file.imports.want(FROM, STORAGE);
        file.imports.want(FROM, 'RateLimitThrottlerStorageModule');
      }
    }
  },
};

function fromRoot(file: EditedFile, project: Project, call: ts.CallExpression): boolean {
  const { syntax } = project;
  const [given] = call.arguments;
  const list = syntax.array(given);
  const object = syntax.object(given);
  if (!given || (!list && !object)) return false;
  const indent = file.indentAt(call.getStart());
  const inner = `${indent}  `;
  const moved = (node: ts.Node): string => node.getText().replaceAll('\n', '\n  ');
  const options = list
    ? `{ throttlers: ${moved(list)}, storage }`
    : withStorage(project, object as ts.ObjectLiteralExpression, moved);
  file.add({ start: call.expression.end - 'forRoot'.length, end: call.expression.end, text: 'forRootAsync' });
  file.replace(
    given,
    `{\n${inner}imports: [${MODULE}],\n${inner}inject: [${STORAGE}],\n` +
      `${inner}useFactory: (storage: ${STORAGE}) => (${options}),\n${indent}}`,
  );
  return true;
}

/** Returns the code of ThrottlerModule's options, with luanest's storage instead of any other storage. */
function withStorage(
  { syntax }: Project,
  object: ts.ObjectLiteralExpression,
  moved: (node: ts.Node) => string,
): string {
  const old = syntax.property(object, 'storage');
  const text = moved(object);
  if (old) return text.replace(moved(old), 'storage');
  const bare = text.slice(0, -1).trimEnd().replace(/,$/, '');
  if (!text.includes('\n')) return `${bare}, storage }`;
  const [first] = object.properties;
  const indent = first
    ? `${' '.repeat(2)}${/[ \t]*$/.exec(first.getFullText().split(/\S/, 1)[0] ?? '')?.[0] ?? ''}`
    : '';
  return `${bare},\n${indent}storage,${text.slice(text.lastIndexOf('\n'))}`;
}

function fromRootAsync(file: EditedFile, project: Project, call: ts.CallExpression): boolean {
  const { syntax } = project;
  const options = syntax.object(call.arguments[0]);
  const factory = factoryOf(project, options);
  if (!options || !factory) return false;
  const results = syntax.results(factory).map((result) => syntax.array(result) ?? syntax.object(result));
  const inject = syntax.array(syntax.value(options, 'inject'));
  const imports = syntax.array(syntax.value(options, 'imports'));
  const { parameters } = factory;
  if (results.length === 0 || results.includes(undefined)) return false;
  // The storage becomes the last parameter of the factory and the last element of `inject`. So both lists must have the same length now.
  if (parameters.length !== (inject?.elements.length ?? 0)) return false;
  if ((syntax.property(options, 'inject') && !inject) || (syntax.property(options, 'imports') && !imports))
    return false;
  if (inject) append(file, inject, STORAGE);
  else addProperty(file, options, `inject: [${STORAGE}]`);
  if (imports) append(file, imports, MODULE);
  else addProperty(file, options, `imports: [${MODULE}]`);
  const last = parameters.at(-1);
  const start = last?.end ?? factory.getStart() + factory.getText().indexOf('(') + 1;
  file.add({ start, end: start, text: `${last ? ', ' : ''}storage: ${STORAGE}` });
  for (const result of results) if (result) addStorage(file, project, result);
  return true;
}

function addStorage(
  file: EditedFile,
  { syntax }: Project,
  result: ts.ObjectLiteralExpression | ts.ArrayLiteralExpression,
): void {
  if (syntax.ts.isObjectLiteralExpression(result)) {
    const old = syntax.property(result, 'storage');
    if (old) file.replace(old, 'storage');
    else append(file, result, 'storage');
    return;
  }
  const arrow = syntax.ts.isArrowFunction(result.parent) && result.parent.body === result;
  file.add({ start: result.getStart(), end: result.getStart(), text: `${arrow ? '(' : ''}{ throttlers: ` });
  file.add({ start: result.end, end: result.end, text: `, storage }${arrow ? ')' : ''}` });
}
