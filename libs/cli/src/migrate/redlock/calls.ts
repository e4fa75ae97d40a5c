import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import type { Project } from '../code/project';
import { grouped } from '../throttler/rules';

/** Settings that decide how long redlock waits for a lock: number of retries, and pause between them, ms. */
export interface Retries {
  readonly retryCount: number;
  readonly retryDelay: number;
}

/** Default settings of redlock 5. */
export const DEFAULT_RETRIES: Retries = { retryCount: 10, retryDelay: 200 };

const METHODS = ['acquire', 'using', 'extend', 'release', 'lock', 'unlock', 'on', 'quit'];

/** Converts calls of redlock's methods to calls of LockService and Lock. */
export class RedlockCalls {
  constructor(
    private readonly file: EditedFile,
    private readonly project: Project,
  ) {}

  /**
   * Converts the calls on one Redlock object.
   *
   * @param owner code of the object, such as `this.redlock`
   * @param below class or function in which the code `owner` means this object
   * @param retries settings of the object
   */
  convert(owner: string, below: ts.Node, retries: Retries): void {
    const { syntax } = this.project;
    for (const call of syntax.all(below, syntax.ts.isCallExpression)) {
      const { expression } = call;
      if (!syntax.ts.isPropertyAccessExpression(expression) || expression.expression.getText() !== owner) continue;
      if (METHODS.includes(expression.name.text)) this.call(call, expression.name, owner, retries);
    }
  }

  private call(call: ts.CallExpression, method: ts.MemberName, owner: string, retries: Retries): void {
    if (method.text === 'acquire') return this.acquire(call, retries);
    if (method.text === 'using') return this.using(call, method, retries);
    if (method.text === 'extend' || method.text === 'release') return this.onLock(call, method.text);
    if (method.text === 'on' || method.text === 'quit') return this.drop(call, method.text, owner);
    this.file.note(
      call,
      'must',
      `${method.text}() is a method of redlock 4. Replace it with acquire() and release(), then run luanest migrate again`,
    );
  }

  private acquire(call: ts.CallExpression, retries: Retries): void {
    const [resources, duration, settings] = call.arguments;
    if (!resources || !duration) return;
    this.names(resources);
    const waitMs = this.waitMs(call, settings, retries);
    // redlock does not renew a lock of `acquire`, so luanest must not renew it either.
    const options = [`leaseMs: ${duration.getText()}`, 'renew: false', ...waiting(waitMs)];
    this.file.add({ start: duration.getStart(), end: (settings ?? duration).end, text: `{ ${options.join(', ')} }` });
    this.noteExtensions(call);
  }

  private using(call: ts.CallExpression, method: ts.MemberName, retries: Retries): void {
    const { syntax } = this.project;
    const [resources, duration, third, fourth] = call.arguments;
    const settings = fourth ? third : undefined;
    const routine = fourth ?? third;
    if (!resources || !duration || !syntax.isFunction(routine)) {
      this.file.note(
        call,
        'must',
        'Replace using() with withLock(names, { leaseMs }, (lock) => ...). `lock.signal` replaces the signal of using()',
      );
      return;
    }
    this.file.replace(method, 'withLock');
    this.names(resources);
    const waitMs = this.waitMs(call, settings, retries);
    const options = [`leaseMs: ${duration.getText()}`, ...waiting(waitMs)];
    this.file.add({ start: duration.getStart(), end: (settings ?? duration).end, text: `{ ${options.join(', ')} }` });
    this.file.note(
      call,
      'check',
      'Inside of withLock, an acquisition of the same name throws InvalidInputError instead of waiting for itself',
    );
    this.signal(routine);
  }

  /** Converts the parameter `signal` of a routine. luanest passes the lock, which has the signal as its property `signal`. */
  private signal(routine: ts.SignatureDeclaration & ts.Node): void {
    const { syntax } = this.project;
    const [parameter] = routine.parameters;
    if (!parameter) return;
    const name = parameter.name.getText();
    const bare = this.file.text[parameter.getStart() - 1] !== '(' && routine.getStart() <= parameter.getStart();
    const inParentheses = /\(\s*$/.test(this.file.text.slice(0, parameter.getStart()));
    const pattern = name === 'signal' ? '{ signal }' : `{ signal: ${name} }`;
    this.file.replace(parameter, bare && !inParentheses ? `(${pattern})` : pattern);
    for (const access of syntax.all(routine, syntax.ts.isPropertyAccessExpression)) {
      if (access.expression.getText() === name && access.name.text === 'error')
        this.file.replace(access.name, 'reason');
    }
  }

  /** Replaces a list of one name by the name: `['a']` by `'a'`. */
  private names(resources: ts.Expression): void {
    const list = this.project.syntax.array(resources);
    const [only] = list?.elements ?? [];
    if (only && list?.elements.length === 1 && !this.project.syntax.ts.isSpreadElement(only))
      this.file.replace(resources, only.getText());
  }

  private waitMs(call: ts.CallExpression, settings: ts.Expression | undefined, retries: Retries): number | undefined {
    const own = settings ? retriesOf(this.project, settings, retries) : retries;
    if (own === undefined || own.retryCount < 0) {
      this.file.note(
        call,
        'must',
        'Set `waitMs`: the time to wait for the lock, ms. It could not be computed, because retryCount is not a literal, or is unlimited',
      );
      return undefined;
    }
    return own.retryCount * own.retryDelay;
  }

  /** Replaces `lock = await lock.extend(5000)` by `await lock.extend(5000)`, because `extend` of luanest changes the lock itself. */
  private noteExtensions(call: ts.CallExpression): void {
    const { syntax } = this.project;
    const { ts } = syntax;
    const variable = syntax.ts.isAwaitExpression(call.parent) ? call.parent.parent : undefined;
    const name =
      variable &&
      (ts.isVariableDeclaration(variable)
        ? variable.name.getText()
        : ts.isBinaryExpression(variable)
          ? variable.left.getText()
          : undefined);
    if (name === undefined) return;
    let scope: ts.Node = call;
    while (!ts.isFunctionLike(scope) && !ts.isSourceFile(scope)) scope = scope.parent;
    for (const assignment of syntax.all(scope, ts.isBinaryExpression)) {
      if (
        assignment.left.getText() !== name ||
        !new RegExp(`^await\\s+[\\w.]+\\.extend\\(`).test(assignment.right.getText())
      )
        continue;
      this.file.add({ start: assignment.getStart(), end: assignment.right.getStart(), text: '' });
    }
  }

  /** Moves a method that gets the lock to the lock: `redlock.release(lock)` becomes `lock.release()`. */
  private onLock(call: ts.CallExpression, method: string): void {
    const [lock, ...rest] = call.arguments;
    if (lock)
      this.file.replace(
        call,
        `${lock.getText()}.${method}(${rest
          .slice(0, 1)
          .map((argument) => argument.getText())
          .join('')})`,
      );
  }

  private drop(call: ts.CallExpression, method: string, owner: string): void {
    const { ts } = this.project.syntax;
    const statement = ts.isAwaitExpression(call.parent) ? call.parent.parent : call.parent;
    if (!ts.isExpressionStatement(statement)) {
      this.file.note(call, 'must', `LockService has no method ${method}(), so rewrite this call by hand`);
      return;
    }
    this.file.removeLines(statement);
    const instead =
      method === 'on'
        ? 'Each call of LockService throws its own error, and failed renewals are an event'
        : 'The module releases its locks at shutdown';
    this.file.note(call, 'check', `${owner}.${method}() was removed. ${instead}`);
  }
}

/** Returns the code of the option `waitMs`; no code if `waitMs` is undefined. luanest/lock then waits for its default of 10 s. */
function waiting(waitMs: number | undefined): string[] {
  return waitMs === undefined ? [] : [`waitMs: ${grouped(waitMs)}`];
}

/** Reads `retryCount` and `retryDelay` from the code of an object. @returns undefined if their values cannot be read from the code */
export function retriesOf(
  { syntax }: Project,
  settings: ts.Expression | undefined,
  defaults: Retries,
): Retries | undefined {
  if (settings === undefined) return defaults;
  const object = syntax.object(settings);
  if (!object) return undefined;
  const read = (name: keyof Retries): number | undefined =>
    syntax.property(object, name) ? syntax.number(syntax.value(object, name)) : defaults[name];
  const [retryCount, retryDelay] = [read('retryCount'), read('retryDelay')];
  return retryCount === undefined || retryDelay === undefined ? undefined : { retryCount, retryDelay };
}
