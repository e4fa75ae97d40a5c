import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import type { Project } from '../code/project';
import { THROTTLER } from './rules';

/** Returns `forRoot` or `forRootAsync` if the node is that call of the module. */
export function moduleCall(call: ts.CallExpression, local: string | undefined): string | undefined {
  const [owner, method] = call.expression.getText().split('.');
  return local !== undefined && owner === local && /^forRoot(Async)?$/.test(method ?? '') ? method : undefined;
}

/** Names of the throttlers of all modules, if they are written out. */
export function throttlerNames(project: Project, files: readonly EditedFile[]): Set<string> | undefined {
  const { syntax } = project;
  const names = new Set<string>();
  for (const file of files) {
    const local = file.imports.local(THROTTLER, 'ThrottlerModule');
    const calls = syntax.all(file.source, syntax.ts.isCallExpression).filter((call) => moduleCall(call, local));
    for (const call of calls) {
      const throttlers = syntax
        .all(call, syntax.ts.isObjectLiteralExpression)
        .filter((object) => syntax.property(object, 'limit') && syntax.property(object, 'ttl'));
      if (throttlers.length === 0) return undefined;
      for (const object of throttlers) names.add(syntax.text(syntax.value(object, 'name')) ?? 'default');
    }
  }
  return names.size > 0 ? names : undefined;
}

/** The factory of `forRootAsync`. */
export function factoryOf({ syntax }: Project, options: ts.ObjectLiteralExpression | undefined) {
  const property = options && syntax.property(options, 'useFactory');
  const method = property && syntax.ts.isMethodDeclaration(property);
  const factory = method ? property : options && syntax.value(options, 'useFactory');
  return syntax.isFunction(factory) ? factory : undefined;
}

/** Options for ScriptRegistryModule from a storage of throttler that has the address of Redis. */
export function redisOfStorage({ syntax }: Project, call: ts.CallExpression): string | undefined {
  const storage = syntax
    .all(call, syntax.ts.isPropertyAssignment)
    .find((property) => syntax.nameOf(property) === 'storage')?.initializer;
  const given = storage && syntax.ts.isNewExpression(storage) ? storage.arguments?.[0] : undefined;
  if (given === undefined || syntax.object(given)) return undefined;
  const known = syntax.ts.isStringLiteralLike(given) || /^process\.env\b/.test(given.getText());
  return known ? `{ url: ${given.getText()} }` : undefined;
}
