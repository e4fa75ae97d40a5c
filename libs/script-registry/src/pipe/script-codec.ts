import type { ArgType, ListType } from '../arg-types';
import type { CommandArg } from '../connection/port';
import type { ScriptDefinition } from '../script-definition';
import { InvalidInputError } from '../script-registry.errors';
import { shown, slotOf } from '../../../internal/src';
import { FIRST_KEY, type Call } from './call';
import { groupForm, loneForm, type LoadableScript } from './forms';

const NO_VALUES: readonly unknown[] = Object.freeze([]);

/** Keys and arguments of a call as the caller passed them. They are not checked yet, because JavaScript may pass anything. */
type CallInput = { readonly keys?: unknown; readonly args?: unknown } | undefined;
const NO_INPUT: NonNullable<CallInput> = Object.freeze({});

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** An argument with one value, unlike a list. */
interface FixedArg {
  readonly name: string;
  readonly type: ArgType<unknown>;
  /** Name of the argument in errors, such as `"limit" of the script rate-limit.consume`. */
  readonly label: string;
}

/** Encodes the calls of one script as commands. What is the same for all calls is computed once, when the script is registered. */
export class ScriptCodec {
  readonly lone: LoadableScript;
  /** Lua text that runs a group of calls; undefined if the calls of this script are sent one by one. */
  readonly group: LoadableScript | undefined;
  /** Maximum number of calls that are sent together; 1 if they are sent one by one. */
  readonly maxCalls: number;
  private readonly fixedKeys: readonly string[];
  private readonly keyList: string | undefined;
  private readonly fixedArgs: readonly FixedArg[];
  private readonly argList: readonly [name: string, type: ListType<unknown>] | undefined;
  /** Number of keys of each call, as text. Empty if the script takes a list of keys, because the number then differs. */
  private readonly keyCount: string;
  /** Arguments of the last EVALSHA whose keys were found to be in one hash slot. Undefined if the script takes a list of keys. */
  private sameSlot: readonly CommandArg[] | undefined;

  /** @param grouping false: calls are sent one by one */
  constructor(
    readonly definition: ScriptDefinition,
    grouping: boolean,
  ) {
    const { keys, group } = definition;
    this.lone = loneForm(definition);
    this.group = grouping ? groupForm(definition) : undefined;
    this.maxCalls = this.group !== undefined && group !== false ? group.maxCalls : 1;
    const args = Object.entries(definition.args as Record<string, ArgType<unknown> | ListType<unknown>>);
    const lastKey = keys.at(-1);
    const lastArg = args.at(-1);
    this.keyList = lastKey?.endsWith('[]') ? lastKey.slice(0, -2) : undefined;
    this.fixedKeys = this.keyList === undefined ? keys : keys.slice(0, -1);
    this.keyCount = this.keyList === undefined ? String(keys.length) : '';
    this.argList = lastArg !== undefined && 'item' in lastArg[1] ? (lastArg as [string, ListType<unknown>]) : undefined;
    const fixedArgs = (this.argList ? args.slice(0, -1) : args) as [string, ArgType<unknown>][];
    this.fixedArgs = fixedArgs.map(([name, type]) => ({ name, type, label: this.labelOf(name) }));
  }

  get forms(): LoadableScript[] {
    return this.group === undefined ? [this.lone] : [this.lone, this.group];
  }

  get name(): string {
    return this.definition.name;
  }

  formFor(calls: number): LoadableScript {
    return calls === 1 ? this.lone : (this.group as LoadableScript);
  }

  /**
   * Checks the keys and arguments of a call, and stores them in the call as the arguments of an EVALSHA. For speed, the array gets its
   * final length first and is filled by index: an iterator would cost more than checking a key, and a first `push` allocates 17 elements.
   *
   * @throws InvalidInputError
   */
  encode(call: Call, input: CallInput): void {
    const { fixedKeys, fixedArgs, keyList, argList } = this;
    const { keys, args } = input ?? NO_INPUT;
    if (!isObject(keys) || !isObject(args)) {
      const seen = `keys ${shown(keys)} and args ${shown(args)}`;
      throw new InvalidInputError(
        `The script ${this.name} was called with ${seen}. Expected { keys: {...}, args: {...} }.`,
        {
          code: 'INVALID_CALL',
        },
      );
    }
    const listedKeys = keyList === undefined ? NO_VALUES : this.listOf(keys[keyList], keyList);
    const listedArgs = argList === undefined ? NO_VALUES : this.listOf(args[argList[0]], argList[0]);
    const keyCount = fixedKeys.length + listedKeys.length;
    const words = new Array<CommandArg>(FIRST_KEY + keyCount + fixedArgs.length + listedArgs.length);
    words[0] = this.lone.sha;
    words[1] = this.keyCount === '' ? String(keyCount) : this.keyCount;
    let at = FIRST_KEY;
    let chars = 0;
    for (let i = 0; i < keyCount; i++) {
      const name = i < fixedKeys.length ? (fixedKeys[i] as string) : (keyList as string);
      const key = i < fixedKeys.length ? keys[name] : listedKeys[i - fixedKeys.length];
      if (typeof key !== 'string' || key === '' || !key.isWellFormed()) throw this.invalidKey(name, key);
      chars += key.length;
      words[at++] = key;
    }
    for (let i = 0; i < fixedArgs.length; i++) {
      const { name, type, label } = fixedArgs[i] as FixedArg;
      const word = type.encode(args[name], label);
      chars += word.length;
      words[at++] = word;
    }
    for (let i = 0; i < listedArgs.length; i++) {
      const [name, { item }] = argList as readonly [string, ListType<unknown>];
      const word = item.encode(listedArgs[i], this.labelOf(name));
      chars += word.length;
      words[at++] = word;
    }
    if (keyCount === 0) {
      throw new InvalidInputError(
        `The list of keys ${this.labelOf(keyList ?? '')} is empty. Expected at least one key.`,
        { code: 'INVALID_CALL' },
      );
    }
    call.words = words;
    call.keyCount = keyCount;
    call.chars = chars;
    if (keyCount > 1) {
      checkSameSlot(this.name, words, keyCount, this.sameSlot);
      if (keyList === undefined) this.sameSlot = words;
    }
  }

  /**
   * Returns the arguments of the EVALSHA or EVAL that runs these calls. Several calls must have the same number of keys, and the same
   * number of arguments.
   *
   * @param isEval true for EVAL, whose first argument is the Lua text; false for EVALSHA, whose first argument is the SHA1 hash
   */
  command(calls: readonly Call[], isEval = false): CommandArg[] {
    const { sha, body } = this.formFor(calls.length);
    const head = isEval ? body : sha;
    const { words, keyCount } = calls[0] as Call;
    if (calls.length === 1) return isEval ? [head, ...words.slice(1)] : words;
    const firstArg = FIRST_KEY + keyCount;
    const sentKeys = sameIn(calls, FIRST_KEY, firstArg) ? 1 : calls.length;
    const sentArgs = sameIn(calls, firstArg, words.length) ? 1 : calls.length;
    const command: CommandArg[] = [head, String(sentKeys * keyCount)];
    pushPart(command, calls, sentKeys, FIRST_KEY, firstArg);
    command.push(String(calls.length), String(keyCount), String(words.length - firstArg));
    pushPart(command, calls, sentArgs, firstArg, words.length);
    return command;
  }

  private invalidKey(name: string, key: unknown): InvalidInputError {
    // The value of a key may contain the id of a user, so the error does not quote it.
    const problem =
      typeof key !== 'string' ? shown(key) : key === '' ? 'empty' : 'text that is not well-formed Unicode';
    return new InvalidInputError(
      `Key ${this.labelOf(name)} is ${problem}. Expected a non-empty string of well-formed Unicode.`,
      { code: 'INVALID_CALL' },
    );
  }

  private labelOf(name: string): string {
    return `"${name}" of the script ${this.definition.name}`;
  }

  private listOf(value: unknown, name: string): readonly unknown[] {
    if (!Array.isArray(value))
      throw new InvalidInputError(`List ${this.labelOf(name)} is ${shown(value)}. Expected an array.`, {
        code: 'INVALID_CALL',
      });
    return value;
  }
}

/** Returns true if all calls have the same arguments from index `from` up to, but not including, `to`. Two Buffers count as different. */
function sameIn(calls: readonly Call[], from: number, to: number): boolean {
  const first = (calls[0] as Call).words;
  for (let i = 1; i < calls.length; i++) {
    const { words } = calls[i] as Call;
    for (let at = from; at < to; at++) if (words[at] !== first[at]) return false;
  }
  return true;
}

/**
 * Appends arguments of the first `count` calls, from index `from` up to, but not including, `to`. `push(...words)` would fail for a long
 * list.
 */
function pushPart(command: CommandArg[], calls: readonly Call[], count: number, from: number, to: number): void {
  for (let i = 0; i < count; i++) {
    const { words } = calls[i] as Call;
    for (let at = from; at < to; at++) command.push(words[at] as CommandArg);
  }
}

/** Returns the beginning of a key up to the end of its hash tag; undefined if the key has no hash tag. */
function startOf(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  return close <= open + 1 ? undefined : key.slice(0, close + 1);
}

/**
 * Refuses a call whose keys are in several hash slots. Keys with the same beginning up to the end of the hash tag are in one slot, so the
 * slot itself is seldom computed.
 *
 * @param words arguments of the EVALSHA; they contain `keyCount` keys
 * @param checked arguments of an earlier call, whose keys were found to be in one slot. Consecutive calls often have the same keys, which
 *   need not be checked again
 * @throws InvalidInputError that names two keys of different slots
 */
export function checkSameSlot(
  script: string,
  words: readonly CommandArg[],
  keyCount: number,
  checked: readonly CommandArg[] | undefined,
): void {
  const first = words[FIRST_KEY] as string;
  const known = checked !== undefined && first === checked[FIRST_KEY] ? checked : undefined;
  // The comparison with `start` is the fastest check, and usually all keys pass it.
  const start = startOf(first);
  for (let at = FIRST_KEY + 1; at < FIRST_KEY + keyCount; at++) {
    const key = words[at] as string;
    if (known !== undefined && key === known[at]) continue;
    if ((start !== undefined && key.startsWith(start)) || slotOf(key) === slotOf(first)) continue;
    throw new InvalidInputError(
      `The script ${script} was not sent, because its keys are in two hash slots: ${shown(first)} in slot ${slotOf(first)} and ` +
        `${shown(key)} in slot ${slotOf(key)}. Build all keys of a call from one KeySpace.tag(subject), so that they share a hash tag.`,
      { code: 'CROSS_SLOT' },
    );
  }
}
