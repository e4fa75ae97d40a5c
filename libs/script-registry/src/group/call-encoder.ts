import type { AnyScript } from '../script-definition';
import type { ArgType, ListType } from '../arg-types';
import type { CommandArg } from '../connection/port';
import type { ScriptShape } from '../lua/group-loop';
import { InvalidCallError } from '../script-registry.errors';
import { checkSameSlot } from './slots';
import type { Call } from './call';
import { shown } from '../../../internal/src';

const NO_VALUES: readonly unknown[] = Object.freeze([]);

/** An argument that is not a list. */
interface FixedArg {
  readonly name: string;
  readonly type: ArgType<unknown>;
  /** The argument as errors name it. */
  readonly label: string;
}

/** Checks the keys and arguments of the calls of one script, and encodes them as its definition declares them. */
export class CallEncoder {
  readonly shape: ScriptShape;
  private readonly script: string;
  private readonly fixedKeys: readonly string[];
  private readonly keyList: string | undefined;
  private readonly fixedArgs: readonly FixedArg[];
  private readonly argList: readonly [name: string, type: ListType<unknown>] | undefined;
  /** Keys of the last call whose slots were checked. All of them are in one slot. */
  private sameSlot: readonly string[] = [];

  constructor(definition: AnyScript) {
    const { keys } = definition;
    const args = Object.entries(definition.args as Record<string, ArgType<unknown> | ListType<unknown>>);
    const lastKey = keys.at(-1);
    const lastArg = args.at(-1);
    this.script = definition.name;
    this.keyList = lastKey?.endsWith('[]') ? lastKey.slice(0, -2) : undefined;
    this.fixedKeys = this.keyList === undefined ? keys : keys.slice(0, -1);
    this.argList = lastArg !== undefined && 'item' in lastArg[1] ? (lastArg as [string, ListType<unknown>]) : undefined;
    const fixedArgs = (this.argList ? args.slice(0, -1) : args) as [string, ArgType<unknown>][];
    this.fixedArgs = fixedArgs.map(([name, type]) => ({ name, type, label: this.labelOf(name) }));
    this.shape = {
      fixedKeys: this.fixedKeys.length,
      fixedArgs: fixedArgs.map(([, type]) => type.common === true),
      lists: this.keyList !== undefined || this.argList !== undefined,
    };
  }

  /**
   * Checks and encodes the keys and arguments of a call, and stores them in it.
   *
   * @throws InvalidCallError, CrossSlotError
   */
  encode(call: Call, keys: Readonly<Record<string, unknown>>, args: Readonly<Record<string, unknown>>): void {
    call.keys = this.encodeKeys(call, keys);
    call.args = this.encodeArgs(call, args);
    if (call.keys.length === 0) {
      throw new InvalidCallError(
        `The list of keys ${this.labelOf(this.keyList ?? '')} is empty. Expected at least one key.`,
      );
    }
    if (call.keys.length > 1) {
      checkSameSlot(this.script, call.keys, this.sameSlot);
      this.sameSlot = call.keys;
    }
  }

  // The next two methods fill arrays of the final length by index, because every call passes through them. An iterator costs
  // more than the check of a key, and the first push to an empty array allocates 17 elements.

  private encodeKeys(call: Call, values: Readonly<Record<string, unknown>>): string[] {
    const { fixedKeys, keyList } = this;
    const fixed = fixedKeys.length;
    const listed = keyList === undefined ? NO_VALUES : this.listOf(values[keyList], keyList);
    const keys = new Array<string>(fixed + listed.length);
    for (let i = 0; i < fixed; i++) {
      const name = fixedKeys[i] as string;
      keys[i] = this.encodeKey(call, values[name], name);
    }
    for (let i = 0; i < listed.length; i++) keys[fixed + i] = this.encodeKey(call, listed[i], keyList as string);
    return keys;
  }

  private encodeArgs(call: Call, values: Readonly<Record<string, unknown>>): CommandArg[] {
    const { fixedArgs, argList } = this;
    const fixed = fixedArgs.length;
    const listed = argList === undefined ? NO_VALUES : this.listOf(values[argList[0]], argList[0]);
    const args = new Array<CommandArg>(fixed + listed.length);
    for (let i = 0; i < fixed; i++) {
      const { name, type, label } = fixedArgs[i] as FixedArg;
      const encoded = type.encode(values[name], label);
      call.chars += encoded.length;
      args[i] = encoded;
    }
    if (argList !== undefined) {
      const [name, { item }] = argList;
      const label = this.labelOf(name);
      for (let i = 0; i < listed.length; i++) {
        const text = item.encode(listed[i], label);
        call.chars += text.length;
        args[fixed + i] = text;
      }
    }
    return args;
  }

  private encodeKey(call: Call, key: unknown, name: string): string {
    if (typeof key !== 'string' || key === '' || !key.isWellFormed()) {
      throw new InvalidCallError(
        `Key ${this.labelOf(name)} is ${keyProblem(key)}. Expected a non-empty string of well-formed Unicode.`,
      );
    }
    call.chars += key.length;
    return key;
  }

  private labelOf(name: string): string {
    return `"${name}" of ${this.script}`;
  }

  private listOf(value: unknown, name: string): readonly unknown[] {
    if (!Array.isArray(value))
      throw new InvalidCallError(`List ${this.labelOf(name)} is ${shown(value)}. Expected an array.`);
    return value;
  }
}

/** Describes an invalid key. Text is not quoted, since it may hold a user's id. */
function keyProblem(key: unknown): string {
  if (typeof key !== 'string') return shown(key);
  return key === '' ? 'empty' : 'text with a lone surrogate';
}
