import type { ArgType, ListType } from './arg-types';

/** Flag of the `#!lua` line. With a flag Redis runs the script in states in which it refuses other scripts: see Redis' docs. */
export type ScriptFlag = 'no-writes' | 'allow-oom' | 'allow-stale';

/** How the calls of a script that are in flight at the same time share one command. */
export interface GroupOptions {
  /** Maximum number of calls in a group; integer >= 1. Default 128. Choose a small number if a call's work grows with its arguments. */
  readonly maxCalls?: number;
  /**
   * Lua for groups that does the same as `source`, at a lower cost for many calls. It may end in a section that begins with the line
   * `-- @finish`: Lua that runs after all calls of a group, for a write that several calls can make together. It runs once with
   * the keys of each call, or only once if all calls have the same keys, and also after calls that raised an error. So its first
   * run for some keys must do the work of all calls with these keys, and a further run for them must do nothing. It must not
   * read ARGV. If it raises an error, every call of the group rejects. Default: `source`.
   */
  readonly source?: string;
}

/**
 * Reply of a script as `reply` gets it: integers, strings, null and arrays of these. If the script puts an error of `redis.pcall`
 * into an array, that element is an Error. Types of RESP3, such as `{ double = 0.5 }`, come as the client decodes them.
 */
export type ScriptReply = number | string | null | ScriptReply[];

/** Reply of a script with `replyBytes: true`: integers, strings as Buffers, null and arrays of these. */
export type BytesReply = number | Buffer | null | BytesReply[];

type ArgSpec = ArgType<never> | ListType<never>;

/** Names and types of the arguments, in the order of ARGV. Only the last argument may be a `list`. */
export type ArgSpecs = Readonly<Record<string, ArgSpec>>;

/** Values of the declared keys. A key declared as `name[]` takes a list of strings, under the name without brackets. */
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
   * The Lua source, without a `#!lua` line. It is sent as it is written.
   *
   * A line `-- @call` parts it in two sections. In a group, the Lua above that line runs once for all calls: functions, constants,
   * and what the calls may share, such as `redis.call('TIME')`. It must not read KEYS or ARGV. The Lua below it runs for each call.
   */
  readonly source: string;
  /** Names of the keys in the order of KEYS; at least one. The last name may end in `[]`; that key takes a list. */
  readonly keys: K;
  /** Names and types of the arguments in the order of ARGV. */
  readonly args: A;
  /**
   * Converts Redis' reply to the result. It must not throw for a reply that the script can return. `resent` is true if the script may
   * have run before for the same call, because its reply was lost and it was sent again: a script that does not give a replay the
   * first result must not report then that it did nothing.
   */
  readonly reply: (raw: Raw, resent: boolean) => R;
  /**
   * True: strings of the reply are a `Buffer` with the exact bytes. False: they are decoded as UTF-8, which changes bytes that
   * are not valid UTF-8. Default false.
   */
  readonly replyBytes?: boolean;
  /**
   * Flags for the `#!lua` line. Default none: Redis refuses the script while it refuses writes, such as when its memory is
   * full.
   */
  readonly flags?: readonly ScriptFlag[];
  /** How calls share a command, or false to send each call alone. Default: up to 128 calls. */
  readonly group?: GroupOptions | false;
}

/** A defined script: its source, its parameters and its `reply` function, with inferred types. Without type arguments: any script. */
export interface ScriptDefinition<
  K extends readonly string[] = readonly string[],
  A = unknown,
  R = unknown,
> extends Required<Omit<ScriptSpec<K, A, never, R>, 'reply' | 'group'>> {
  readonly reply: (raw: never, resent: boolean) => R;
  readonly group: (Required<Omit<GroupOptions, 'source'>> & { readonly source: string | undefined }) | false;
}
