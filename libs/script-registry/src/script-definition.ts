import type { ArgType, ListType } from './arg-types';

/**
 * Flag of the `#!lua` line. `no-writes`: the script writes nothing. `allow-oom`: Redis runs the script although its memory is full.
 * `allow-stale`: a replica runs the script although its data may be old.
 */
export type ScriptFlag = 'no-writes' | 'allow-oom' | 'allow-stale';

/** Limits for the groups of a script. A group consists of concurrent calls that are sent together as one command. */
export interface GroupOptions {
  /**
   * Maximum number of calls in a group; integer >= 1. Default 128. Choose a small number if the work of one call grows with its
   * arguments.
   */
  readonly maxCalls?: number;
  /**
   * Lua that runs for each call of a group, instead of the script's own `source`. It must do the same, and may be faster for many calls.
   * Default: the script's `source`.
   *
   * Below a line `-- @finish`, the Lua may have a section that runs after all calls of the group, for one write instead of many. If all
   * calls have the same keys, the section runs once. Otherwise it runs once per call, with the keys of that call. If several calls have the
   * same keys, the first run must do the work for all of them, and the later runs must find nothing to do. The section also runs after a
   * call that raised an error. It must not read ARGV. If it raises an error, every call of the group rejects.
   */
  readonly source?: string;
}

/**
 * Reply of a script, which the function `reply` gets: integers, strings, null and arrays of these. If the script puts an error of
 * `redis.pcall` into an array, that element is an Error. The client decides how it decodes types of RESP3, such as `{ double = 0.5 }`.
 */
export type ScriptReply = number | string | null | ScriptReply[];

/** Reply of a script with `replyBytes: true`: integers, strings as Buffers, null and arrays of these. */
export type BytesReply = number | Buffer | null | BytesReply[];

type ArgSpec = ArgType<never> | ListType<never>;

/** Name and type of each argument, in the order of ARGV. Only the last argument may be a `list`. */
export type ArgSpecs = Readonly<Record<string, ArgSpec>>;

/** Values of the declared keys. A key that is declared as `name[]` has the property `name` here, with a list of strings. */
type KeysOf<K extends readonly string[]> = {
  readonly [N in K[number] as N extends `${infer Base}[]` ? Base : N]: N extends `${string}[]`
    ? readonly string[]
    : string;
};

type ArgsOf<A> = {
  readonly [N in keyof A]: A[N] extends ListType<infer T> ? readonly T[] : A[N] extends ArgType<infer T> ? T : never;
};

/** Keys and arguments of a call: the second parameter of `ScriptRegistry.run()`. */
export interface ScriptInput<K extends readonly string[], A> {
  readonly keys: KeysOf<K>;
  readonly args: ArgsOf<A>;
}

/** Definition of a script, for `defineScript`. */
export interface ScriptSpec<K extends readonly string[], A, Raw, R> {
  /** `<lib>.<verb>`, kebab-case. A ScriptRegistry refuses two different scripts with the same name. */
  readonly name: string;
  /**
   * The Lua source, without a `#!lua` line. ScriptRegistry does not change it for a call that is sent alone.
   *
   * A line `-- @call` divides the source into two sections. In a group of calls that are sent together, the Lua above this line runs once
   * for all calls. Put functions and constants there, and results that the calls may share, such as that of `redis.call('TIME')`. The Lua
   * above the line must not read KEYS or ARGV. The Lua below the line runs for each call.
   */
  readonly source: string;
  /**
   * Names of the keys in the order of KEYS; at least one. The last name may end in `[]`. The script then takes a list of keys under this
   * name.
   */
  readonly keys: K;
  /** Names and types of the arguments in the order of ARGV. */
  readonly args: A;
  /**
   * Converts Redis' reply to the result. It must not throw for a reply that the script can return. `resent` is true if the call was sent
   * again after its first reply was lost. The script may then have run twice for this call. If the second run of your script does not
   * return the first result, do not report that the call did nothing.
   */
  readonly reply: (raw: Raw, resent: boolean) => R;
  /**
   * True: each string of the reply is a `Buffer` with the exact bytes. False: each string is decoded as UTF-8, which changes bytes that
   * are not valid UTF-8. Default false.
   */
  readonly replyBytes?: boolean;
  /**
   * Flags for the `#!lua` line. Default: none. Redis then refuses the script while it refuses writes, such as when the memory of Redis is
   * full.
   */
  readonly flags?: readonly ScriptFlag[];
  /** Limits of the groups of calls that are sent together; false to send each call alone. Default: groups of up to 128 calls. */
  readonly group?: GroupOptions | false;
}

/**
 * A script that `defineScript` has returned, with the inferred types of its keys, arguments and result. Without type arguments, any script.
 */
export interface ScriptDefinition<
  K extends readonly string[] = readonly string[],
  A = unknown,
  R = unknown,
> extends Required<Omit<ScriptSpec<K, A, never, R>, 'reply' | 'group'>> {
  readonly reply: (raw: never, resent: boolean) => R;
  readonly group: (Required<Omit<GroupOptions, 'source'>> & { readonly source: string | undefined }) | false;
}
