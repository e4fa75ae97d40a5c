import type { CanActivate, Type } from '@nestjs/common';
import { Checks, type KnownOptions } from '../../internal/src';

/** Who sends a request to the console. */
export interface ConsoleActor {
  /** Name in the log of actions, such as an email address; 1 to 200 characters. */
  readonly name: string;
  /** `read`: sees all pages. `act`: can also run actions, unless `readOnly` is true. */
  readonly role: 'read' | 'act';
}

/** A guard of the app: an instance, or a class that Nest provides or can make. */
type AppGuard = CanActivate | Type<CanActivate>;

/** Options of ConsoleModule. */
export interface ConsoleModuleOptions {
  /**
   * Guard of all routes of the console, or several that run in this order. If a module of the app provides the class, its instance
   * is used. Required, except if NODE_ENV is `test`.
   */
  readonly guard?: AppGuard | readonly AppGuard[];
  /** True: every action is refused. Default true. */
  readonly readOnly?: boolean;
  /**
   * Returns who sent a request that the guards let through, and what they may do; undefined or null to refuse it with 403.
   * Required if `readOnly` is false. Default: everybody has the role `read`.
   */
  readonly actor?: (request: unknown) => ConsoleActor | null | undefined | Promise<ConsoleActor | null | undefined>;
  /** True: the console shows payloads of tasks and messages, results and metadata. Default false. */
  readonly showPayloads?: boolean;
  /**
   * Returns what the console shows of a payload, such as a copy without names. Called only if `showPayloads` is true. If it throws,
   * the payload is not shown. Default: the payload as it is.
   */
  readonly redact?: (payload: unknown) => unknown;
}

/** Settings that Nest needs before the options are resolved. For forRootAsync they are properties next to `useFactory`. */
export interface ConsoleModuleExtras {
  /**
   * Path of the console below the app's global prefix: letters, digits, `.`, `_`, `~`, `-`, and `/` between parts. Default `/console`.
   */
  readonly path?: string;
  /** Name of the ScriptRegistry whose Redis has the log of actions. Default: the ScriptRegistry without a name. */
  readonly registry?: string;
}

/** Options of ConsoleModule after the checks. */
export interface ResolvedConsoleModuleOptions extends Pick<ConsoleModuleOptions, 'actor' | 'redact'> {
  readonly guards: readonly AppGuard[];
  readonly readOnly: boolean;
  readonly showPayloads: boolean;
}

export const CONSOLE_OPTIONS = Symbol('luanest:console-options');

const KNOWN: KnownOptions<ConsoleModuleOptions> = {
  guard: true,
  readOnly: true,
  actor: true,
  showPayloads: true,
  redact: true,
};
const PATH = /^\/?[\w.~-]+(\/[\w.~-]+)*\/?$/;
const checks = new Checks('ConsoleModule');

/** Checks the options, and fills in the defaults. @throws InvalidOptionError with the option, its value and what is allowed */
export function resolveOptions(options: ConsoleModuleOptions): ResolvedConsoleModuleOptions {
  checks.options('', options, KNOWN);
  const guards = guardsOf(options.guard);
  const readOnly = checks.flag('readOnly', options.readOnly ?? true);
  const actor = checks.optionalFn('actor', options.actor, 'that returns { name, role } of a request');
  if (!readOnly && actor === undefined) {
    throw checks.error(
      'readOnly is false, and there is no option actor, so nobody could run an action. Set actor to a function that returns the name and the role of a request.',
    );
  }
  return Object.freeze({
    guards,
    readOnly,
    actor,
    showPayloads: checks.flag('showPayloads', options.showPayloads ?? false),
    redact: checks.optionalFn('redact', options.redact, 'that returns what is shown of a payload'),
  });
}

function guardsOf(guard: ConsoleModuleOptions['guard']): readonly AppGuard[] {
  const guards = (guard === undefined ? [] : Array.isArray(guard) ? guard : [guard]) as readonly AppGuard[];
  for (const [at, each] of guards.entries()) {
    if (typeof each === 'function' || typeof each?.canActivate === 'function') continue;
    checks.refuse(Array.isArray(guard) ? `guard[${at}]` : 'guard', each, 'a class or an object with canActivate()');
  }
  // See DECISIONS.md: no-console-without-a-guard
  if (guards.length === 0 && process.env['NODE_ENV'] !== 'test') {
    throw checks.error(
      'There is no guard, so everybody could see and change what is in Redis. Set the option guard to a guard that knows your operators.',
    );
  }
  return guards;
}

/** Returns the path without slashes at its ends. @throws InvalidOptionError for an invalid path */
export function pathOf(path: unknown): string {
  const expected = 'a path such as "/console", of letters, digits, ".", "_", "~", "-", and "/" between its parts';
  const text = checks.text('path', path, PATH, expected);
  if (text.split('/').some((part) => part === '.' || part === '..')) checks.refuse('path', path, expected);
  return text.replace(/^\/|\/$/g, '');
}
