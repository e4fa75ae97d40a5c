import { limitCallsInFlight } from './support';
import { createHash } from 'node:crypto';
import { defineScript, list, ScriptRegistry, str } from 'luanest/script-registry';
import type { RunAndWaitOptions } from '../src/script-registry.types';
import {
  CommandFailure,
  type CommandArg,
  type DedicatedConnection,
  type Receiver,
  type RedisCommand,
  type RedisConnection,
  type RedisNode,
} from '../src/connection/port';
import { resolveOptions } from '../src/script-registry.options';
import { pending, type Pending } from '../../../test/support/replies';

/** Calls that go alone at once, as FEW in src/pipe/script-pipe.ts. */
export const FEW = 2;

/** A command that was sent, and what the test replies to it. */
export interface Sent extends Receiver {
  readonly name: string;
  readonly args: CommandArg[];
  /** Present if the command is measured. */
  readonly took?: (ms: number | undefined) => void;
}

export const refused = (message: string, mayHaveRun = false): CommandFailure =>
  new CommandFailure('reply', message, mayHaveRun);
export const noScript = (mayHaveRun = false): CommandFailure =>
  refused('NOSCRIPT No matching script. Please use EVAL.', mayHaveRun);

/** A node whose replies to scripts the test gives. It has every script, unless the test says otherwise. */
export class FakeNode implements RedisNode {
  readonly role = 'master';
  ready = true;
  readonly sent: Sent[] = [];
  /** SCRIPT LOAD waits for it. */
  gate: Promise<unknown> = Promise.resolve();
  /** Reason why SCRIPT LOAD fails. */
  problem: Error | undefined;
  /** How often each body was loaded. */
  readonly loads: string[] = [];

  constructor(readonly id: string) {}

  get last(): Sent {
    return this.sent.at(-1) as Sent;
  }

  connect(): void {}

  async send(name: string, [subcommand, ...rest]: string[]): Promise<unknown> {
    if (name !== 'SCRIPT') return Buffer.from('PONG');
    await this.gate;
    if (this.problem) throw this.problem;
    if (subcommand === 'EXISTS') return rest.map(() => 1);
    this.loads.push(rest[0] as string);
    return createHash('sha1')
      .update(rest[0] as string)
      .digest('hex');
  }

  run(name: string, args: CommandArg[], receiver: Receiver): void {
    this.sent.push({
      name,
      args,
      resent: () => receiver.resent?.(),
      replied: (reply) => receiver.replied(reply),
      failed: (failure) => receiver.failed(failure),
    });
  }

  sendMeasured(
    name: string,
    args: CommandArg[],
    took: (ms: number | undefined) => void,
    resent?: () => void,
  ): Promise<unknown> {
    const reply = pending<unknown>();
    this.sent.push({
      ...{ name, args, took, resent },
      replied: (raw) => reply.resolve(raw),
      failed: (failure) => reply.reject(failure),
    });
    return reply.promise;
  }
}

/** A separate connection whose replies the test gives. */
class FakeDedicated implements DedicatedConnection {
  readonly sent: { readonly commands: readonly RedisCommand[]; readonly replies: Pending<unknown[]> }[] = [];

  sendAll(commands: readonly RedisCommand[]): Promise<unknown[]> {
    const replies = pending<unknown[]>();
    this.sent.push({ commands, replies });
    return replies.promise;
  }

  close(): void {}
}

/** A connection that the test controls. */
export class FakeConnection implements RedisConnection {
  clustered = false;
  all: FakeNode[] = [new FakeNode('a')];
  nodeFor: (slot: number) => FakeNode | undefined = () => this.all[0];
  refreshes = 0;
  closed = false;
  readonly own = new FakeDedicated();
  /** A separate connection waits for it. */
  connecting: Promise<unknown> = Promise.resolve();
  readonly routed: { readonly name: string; readonly args: CommandArg[]; readonly reply: Pending<unknown> }[] = [];
  private listener: Parameters<RedisConnection['listen']>[0] = () => undefined;

  nodes(): readonly FakeNode[] {
    return this.all;
  }

  lostMasters(): readonly string[] {
    return [];
  }

  sendRouted(name: string, args: CommandArg[]): Promise<unknown> {
    const reply = pending<unknown>();
    this.routed.push({ name, args, reply });
    return reply.promise;
  }

  refresh(): void {
    this.refreshes += 1;
  }

  async dedicated(): Promise<DedicatedConnection> {
    await this.connecting;
    return this.own;
  }

  subscriber(): never {
    throw new Error('not needed');
  }

  listen(listener: Parameters<RedisConnection['listen']>[0]): () => void {
    this.listener = listener;
    return () => undefined;
  }

  /** Says that a node is ready, or that the topology has changed. */
  changed(node?: RedisNode): void {
    this.listener(node ? 'ready' : 'topology', node);
  }

  close(): void {
    this.closed = true;
  }
}

export interface Made {
  /** The result or the error of the call; empty while there is none. */
  readonly settled: unknown[];
  readonly done: Promise<void>;
}

/** The error code of a call, its result, or 'pending'. */
export function outcomeOf({ settled: [outcome] }: Made): unknown {
  return outcome instanceof Error ? (outcome as Error & { code: string }).code : (outcome ?? 'pending');
}

interface Setup {
  readonly maxCalls?: number;
  readonly maxCallsInFlight?: number;
  readonly deadlineMs?: number;
  readonly grouping?: boolean;
  readonly clustered?: boolean;
  readonly reply?: (raw: unknown) => unknown;
}

const opened: ScriptRegistry[] = [];
afterEach(() => {
  for (const registry of opened.splice(0)) registry.close();
});

/** A ScriptRegistry without Redis, and its script. `a` is its first node. */
export async function openFake(setup: Setup = {}) {
  const {
    maxCalls = 128,
    maxCallsInFlight = 4_096,
    clustered = false,
    reply = (raw: unknown) => raw,
    ...options
  } = setup;
  const script = defineScript({
    ...{ name: 'test.any', keys: ['any'], args: { text: str, more: list(str) }, group: { maxCalls } },
    source: 'return { KEYS[1], ARGV[1] }',
    reply,
  });
  const connection = new FakeConnection();
  connection.clustered = clustered;
  const registry = new ScriptRegistry('main', connection, resolveOptions({ deadlineMs: 60_000, ...options }));
  opened.push(registry);
  limitCallsInFlight(registry, maxCallsInFlight);
  registry.register([script]);
  await registry.onModuleInit();
  const [a] = connection.all as [FakeNode];
  const [lone, group] = a.loads;
  const shaOf = (body: string | undefined): string => createHash('sha1').update(String(body)).digest('hex');
  const note = (result: Promise<unknown>): Made => {
    const settled: unknown[] = [];
    const keep = (outcome: unknown): void => void settled.push(outcome);
    return { settled, done: result.then(keep, keep) };
  };
  type Of = { key?: string; more?: string[]; deadlineMs?: number };
  const call = (text: string, { key = 'k', more = [], ...rest }: Of = {}): Made =>
    note(registry.run(script, { keys: { any: key }, args: { text, more } }, rest));
  const wait = (text: string, rest: RunAndWaitOptions, key = 'k'): Made =>
    note(registry.runAndWait(script, { keys: { any: key }, args: { text, more: [] } }, rest));
  /** Makes a call for each of these texts. */
  const calls = (texts: string, of?: Of): Made[] => [...texts].map((text) => call(text, of));
  /** Makes as many calls as go alone, so that further ones share a command. */
  const few = (): Made[] => calls('x'.repeat(FEW));
  /** Texts of the calls of each command: `['a', 'bc']` for `a` alone, and `b` and `c` in a group. Texts have one character. */
  const sent = (node: FakeNode = a): string[] => node.sent.map(({ args }) => textsOf(args));
  const textsOf = ([head, keyCount, ...words]: CommandArg[]): string => {
    if (head === shaOf(lone) || head === lone) return words[Number(keyCount)] as string;
    const [count, , each, ...args] = words.slice(Number(keyCount)) as string[];
    const step = args.length > Number(each) ? Number(each) : 0;
    return Array.from({ length: Number(count) }, (_, i) => args[i * step]).join('');
  };
  return {
    ...{ registry, connection, a, script, call, calls, few, wait, sent, textsOf },
    ...{ lone: { body: lone, sha: shaOf(lone) }, group: { body: group, sha: shaOf(group) } },
    busy: (registry as unknown as { busy: Set<{ idle: boolean }> }).busy,
  };
}
