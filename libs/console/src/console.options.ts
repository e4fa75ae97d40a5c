import type { CanActivate, Type } from '@nestjs/common';
import { Checks, type KnownOptions } from '../../internal/src';

/** User who sends a request to the console. The option `actor` returns this object. */
export interface ConsoleActor {
  /** Name that the log of actions shows for the user, such as an email address; 1 to 200 characters. */
  readonly name: string;
  /** `read`: the user sees all pages. `act`: the user can also run actions, unless the option `readOnly` is true. */
  readonly role: 'read' | 'act';
}

/** A guard of the app: an instance, or a class. For a class, the console uses the instance of a module, or Nest creates one. */
type AppGuard = CanActivate | Type<CanActivate>;

/** Options of ConsoleModule. */
export interface ConsoleModuleOptions {
  /**
   * Guard of all routes of the console. You can give several: they run in this order, and each of them must allow the request. If
   * the guard is a class that a module of the app provides, the console uses that instance. Otherwise the console creates one.
   * Required, except if NODE_ENV is `test`.
   */
  readonly guard?: AppGuard | readonly AppGuard[];
  /** If true, the console refuses every action. Default true. */
  readonly readOnly?: boolean;
  /**
   * Returns the user who sent a request, and their role. The guards have already allowed the request. If the function returns
   * undefined or null, the console refuses the request with 403. Required if `readOnly` is false. Default: every user has the role
   * `read`.
   */
  readonly actor?: (request: unknown) => ConsoleActor | null | undefined | Promise<ConsoleActor | null | undefined>;
  /** If true, the console shows payloads and results of tasks, messages and requests. Default false. */
  readonly showPayloads?: boolean;
  /**
   * Returns what the console shows instead of a payload, such as a copy without names. Called only if `showPayloads` is true. If
   * the function throws, the console does not show the payload. Default: the payload is shown unchanged.
   */
  readonly redact?: (payload: unknown) => unknown;
}

/** Settings that Nest needs before it calls `useFactory`. In forRootAsync, write them next to `useFactory`. */
export interface ConsoleModuleExtras {
  /**
   * Path of the console, below the global prefix of the app. It may contain letters, digits, `.`, `_`, `~`, `-`, and `/` between
   * its parts. Default `/console`.
   */
  readonly path?: string;
  /**
   * Name of the ScriptRegistry whose Redis stores the log of actions and the history. Default: the ScriptRegistry without a name.
   */
  readonly registry?: string;
}

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

/**
 * Checks the options, and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option, its value and the allowed values
 */
export function resolveOptions(options: ConsoleModuleOptions): ResolvedConsoleModuleOptions {
  checks.options('', options, KNOWN);
  const guards = guardsOf(options.guard);
  const readOnly = checks.flag('readOnly', options.readOnly ?? true);
  const actor = checks.optionalFn('actor', options.actor, 'that returns { name, role } of the user of a request');
  if (!readOnly && actor === undefined) {
    throw checks.error(
      'readOnly is false, and there is no option actor, so nobody could run an action. Set actor to a function that returns the name and the role of the user who sent a request.',
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

/** Checks the option `path`. Returns it without `/` at the start and the end. @throws InvalidOptionError for an invalid path */
export function pathOf(path: unknown): string {
  const expected = 'a path such as "/console", of letters, digits, ".", "_", "~", "-", and "/" between its parts';
  const text = checks.text('path', path, PATH, expected);
  if (text.split('/').some((part) => part === '.' || part === '..')) checks.refuse('path', path, expected);
  return text.replace(/^\/|\/$/g, '');
}
