import { KeySpace, type ScriptDefinition, type ScriptRegistry } from 'luanest/script-registry';
import { ManualClock } from '../../../libs/memory-redis/src/clock';
import { MemoryRedis } from '../../../libs/memory-redis/src/memory-redis';
import { Double, NoReply, NullArray, RedisError, Status, type Reply } from '../../../libs/memory-redis/src/reply';
import { flat } from '../../../libs/memory-redis/src/resp';
import { Call } from '../../../libs/script-registry/src/pipe/call';
import { ScriptCodec } from '../../../libs/script-registry/src/pipe/script-codec';
import { scriptError, settle as settleCalls } from '../../../libs/script-registry/src/pipe/settle';
import { Frozen } from './frozen';
import type { ScriptCall } from './script-call';

/** 2026-01-01T00:00:00Z, ms since 1970. */
export const BEGIN_MS = 1_767_225_600_000;

/** Something that was done to the server, so that it can be done to another server. */
export type Deed =
  | {
      readonly kind: 'command';
      readonly atUs: number;
      readonly words: readonly string[];
      readonly reply: Reply;
      readonly move: number;
    }
  | { readonly kind: 'replica stops' | 'failover' };

/** The in-memory server, its clock, and the library's way to call scripts on it. */
export class World {
  readonly clock = new ManualClock(BEGIN_MS);
  readonly redis = new MemoryRedis({ clock: this.clock });
  readonly db = this.redis.server.db;
  /** Undefined: deeds are not recorded. */
  deeds: Deed[] | undefined;
  /** Number of the move that is made, for deeds. */
  move = 0;
  private readonly replaced: ReadonlyMap<string, ScriptDefinition>;
  private readonly codecs = new Map<ScriptDefinition, ScriptCodec>();
  private readonly session = this.redis.server.open(nothing, nothing);

  /** @param replaced scripts that run instead of those of the same name */
  constructor(replaced: readonly ScriptDefinition[] = []) {
    this.replaced = new Map(replaced.map((script) => [script.name, script]));
  }

  get nowMs(): number {
    return this.db.nowMs;
  }

  /** Runs a script as a ScriptRegistry does for a call that it sends alone, and returns the result of its `reply`. @throws */
  call<Result = unknown>(call: ScriptCall): Result {
    const [result] = this.run([call]);
    if (result instanceof Error) throw result;
    return result as Result;
  }

  /** Runs calls of one script as a ScriptRegistry does for a group. @returns the result of each call, or its error */
  group(calls: readonly ScriptCall[]): unknown[] {
    return this.run(calls);
  }

  /** Returns how many calls a group may have. */
  maxCallsOf(script: ScriptDefinition): number {
    return this.codecOf(script).maxCalls;
  }

  private run(asked: readonly ScriptCall[]): unknown[] {
    const codec = this.codecOf((asked[0] as ScriptCall).script);
    const results: unknown[] = [];
    const calls = asked.map(({ input }, index) => {
      const settle = (result: unknown): void => void (results[index] = result);
      const call = new Call(codec.definition, 0, undefined, settle, settle);
      codec.encode(call, input);
      return call;
    });
    const form = codec.formFor(calls.length);
    if (!this.redis.server.scripts.has(form.sha)) this.execute(['SCRIPT', 'LOAD', bytesOf(form.body)]);
    const reply = this.execute(['EVALSHA', ...codec.command(calls).map(wordOf)]);
    settle(codec, calls, reply instanceof RedisError ? reply : valueOf(reply));
    return results;
  }

  /** Sends a command, and records it if deeds are recorded. @returns the reply as ioredis returns it */
  command(...words: string[]): unknown {
    return valueOf(this.execute(words));
  }

  /** Reads for an invariant: not recorded. */
  read(...words: string[]): unknown {
    const reply = this.reply(words);
    if (reply instanceof RedisError) throw reply;
    return valueOf(reply);
  }

  reply(words: readonly string[]): Reply {
    return this.redis.server.execute(this.session, words);
  }

  freeze(): Frozen {
    this.deeds?.push({ kind: 'replica stops' });
    return Frozen.of(this.db);
  }

  thaw(frozen: Frozen): void {
    this.deeds?.push({ kind: 'failover' });
    frozen.writeTo(this.db);
  }

  private execute(words: readonly string[]): Reply {
    const reply = this.redis.server.execute(this.session, words);
    this.deeds?.push({ kind: 'command', atUs: this.db.nowUs, words, reply, move: this.move });
    return reply;
  }

  private codecOf(asked: ScriptDefinition): ScriptCodec {
    const script = this.replaced.get(asked.name) ?? asked;
    let codec = this.codecs.get(script);
    if (codec === undefined) {
      codec = new ScriptCodec(script, true);
      this.codecs.set(script, codec);
    }
    return codec;
  }
}

/** Settles calls by the reply to their command, as a ScriptRegistry does. */
export function settle(codec: ScriptCodec, calls: readonly Call[], reply: unknown): void {
  const fail = (call: Call, error: Error): void => void call.reject(error);
  if (reply instanceof RedisError) {
    for (const call of calls) fail(call, scriptError(codec.name, reply.message));
  } else settleCalls(codec.name, calls, reply, fail);
}

/** Returns the call that the library's code makes first. Nothing is sent, and the code gets no reply. */
export function callOf(make: (registry: ScriptRegistry) => unknown): ScriptCall {
  let call: ScriptCall | undefined;
  const registry = {
    deadlineMs: 5_000,
    keySpace: (lib: string) => new KeySpace('e', lib),
    run: (script: ScriptDefinition, input: ScriptCall['input']) => {
      call ??= { script, input };
      return new Promise(nothing);
    },
  };
  make(registry as unknown as ScriptRegistry);
  if (call === undefined) throw new Error('The code called no script.');
  return call;
}

function nothing(): void {}

function textOf(bytes: string): string {
  return /^[\0-\x7f]*$/.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString();
}

function bytesOf(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1');
}

function wordOf(arg: string | Buffer): string {
  return typeof arg === 'string' ? bytesOf(arg) : arg.toString('latin1');
}

/** Converts a reply as ioredis with RESP2 does. */
export function valueOf(reply: Reply): unknown {
  if (typeof reply === 'string') return textOf(reply);
  if (typeof reply === 'number' || reply === null) return reply;
  if (typeof reply === 'bigint') return Number(reply);
  if (reply instanceof NullArray) return null;
  if (reply instanceof Status) return textOf(reply.text);
  if (reply instanceof RedisError) return reply;
  if (reply instanceof Double) return String(reply.value);
  if (reply instanceof NoReply) return undefined;
  return flat(reply).map(valueOf);
}
