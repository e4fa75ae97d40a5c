import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import type { Project } from '../code/project';
import { THROTTLER } from './rules';

/** Returns `forRoot` or `forRootAsync` if the node is a call of this method of the module. @param local name of the module in the file */
export function moduleCall(call: ts.CallExpression, local: string | undefined): string | undefined {
  const [owner, method] = call.expression.getText().split('.');
  return local !== undefined && owner === local && /^forRoot(Async)?$/.test(method ?? '') ? method : undefined;
}

/** Returns the names of all throttlers; undefined if they cannot be read from the code. */
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

/** Returns the function `useFactory` of the options of `forRootAsync`. */
export function factoryOf({ syntax }: Project, options: ts.ObjectLiteralExpression | undefined) {
  const property = options && syntax.property(options, 'useFactory');
  const method = property && syntax.ts.isMethodDeclaration(property);
  const factory = method ? property : options && syntax.value(options, 'useFactory');
  return syntax.isFunction(factory) ? factory : undefined;
}

/**
 * Returns code for the options of ScriptRegistryModule with the Redis address of the throttlers' storage; undefined if it cannot be read
 * from the code.
 */
export function redisOfStorage({ syntax }: Project, call: ts.CallExpression): string | undefined {
  const storage = syntax
    .all(call, syntax.ts.isPropertyAssignment)
    .find((property) => syntax.nameOf(property) === 'storage')?.initializer;
  const given = storage && syntax.ts.isNewExpression(storage) ? storage.arguments?.[0] : undefined;
  if (given === undefined || syntax.object(given)) return undefined;
  const known = syntax.ts.isStringLiteralLike(given) || /^process\.env\b/.test(given.getText());
  return known ? `{ url: ${given.getText()} }` : undefined;
}
