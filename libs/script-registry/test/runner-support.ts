import { defineScript, str } from 'luanest/script-registry';
import type {
  CommandArg,
  DedicatedConnection,
  OnFailure,
  OnReply,
  RedisCommand,
  RedisConnection,
} from '../src/connection/port';
import type { Wait } from '../src/group/call';
import { CompiledScript } from '../src/group/compiled-script';
import type { Lane } from '../src/group/lane';
import { ScriptRunner } from '../src/group/runner';
import type { ScriptLoader } from '../src/script-loader';
import { pending, type Pending } from '../../../test/support/replies';
import { turn } from '../../../test/support/manual-time';
import { callOf } from './group-support';

interface SentCommand {
  readonly name: string;
  readonly args: CommandArg[];
  readonly done: OnReply;
  readonly failed: OnFailure;
  /** Present if the command is measured. */
  readonly took?: (ms: number | undefined) => void;
}

/** A node whose replies the test gives. */
export class FakeNode {
  readonly role = 'master';
  ready = true;
  /** True once the first load of scripts has ended. */
  settled = true;
  problem: Error | undefined;
  readonly sent: SentCommand[] = [];
  /** Loads that were asked for. */
  readonly loads: Pending<void>[] = [];

  constructor(readonly id: string) {}

  get last(): SentCommand {
    return this.sent.at(-1) as SentCommand;
  }

  run(name: string, args: CommandArg[], done: OnReply, failed: OnFailure): void {
    this.sent.push({ name, args, done, failed });
  }

  sendMeasured(name: string, args: CommandArg[], took: (ms: number | undefined) => void): Promise<unknown> {
    const reply = pending<unknown>();
    const [done, failed] = [(raw: unknown) => reply.resolve(raw), (failure: unknown) => reply.reject(failure)];
    this.sent.push({ name, args, done, failed, took });
    return reply.promise;
  }
}

/** A connection that the test controls, and what a runner asked it for. */
class FakeConnection {
  clustered = false;
  all: FakeNode[] = [];
  /** The node of each slot; undefined for a connection without nodes. */
  nodeFor: (slot: number) => FakeNode | undefined = () => this.all[0];
  refreshes = 0;
  readonly routed: { readonly name: string; readonly args: CommandArg[]; readonly reply: Pending<unknown> }[] = [];
  readonly dedicatedTo: { readonly node: FakeNode; readonly connection: Pending<DedicatedConnection> }[] = [];

  nodes(): readonly FakeNode[] {
    return this.all;
  }

  refresh(): void {
    this.refreshes += 1;
  }

  sendRouted(name: string, args: CommandArg[]): Promise<unknown> {
    const reply = pending<unknown>();
    this.routed.push({ name, args, reply });
    return reply.promise;
  }

  dedicated(node: FakeNode): Promise<DedicatedConnection> {
    const connection = pending<DedicatedConnection>();
    this.dedicatedTo.push({ node, connection });
    return connection.promise;
  }
}

/** A separate connection whose replies the test gives. */
export class FakeDedicated {
  readonly sent: { readonly commands: readonly RedisCommand[]; readonly replies: Pending<unknown[]> }[] = [];

  sendAll(commands: readonly RedisCommand[]): Promise<unknown[]> {
    const replies = pending<unknown[]>();
    this.sent.push({ commands, replies });
    return replies.promise;
  }

  close(): void {}
}

/** A runner of one script without Redis. `a` is the first node. @param listed true if the script takes a list of keys */
export function runnerOf({ clustered = false, listed = false, maxChars = 1_000, maxCallsInFlight = 1_000 } = {}) {
  const script = defineScript({
    ...{ name: 'test.any', keys: [listed ? 'any[]' : 'any'], args: { text: str }, group: { maxChars } },
    source: 'return KEYS[1] .. ARGV[1]',
    reply: (raw: unknown) => raw,
  });
  const compiled = new CompiledScript(script, true, false);
  const [a, connection, busy] = [new FakeNode('a'), new FakeConnection(), new Set<Lane>()];
  Object.assign(connection, { clustered, all: [a] });
  const state = { held: 0 };
  const loader = {
    settled: (node: FakeNode) => node.settled,
    problem: (node: FakeNode) => node.problem,
    load: (node: FakeNode) => {
      const load = pending<void>();
      node.loads.push(load);
      return load.promise;
    },
  };
  const runner = new ScriptRunner(compiled, {
    registry: 'main',
    connection: connection as unknown as RedisConnection,
    loader: loader as unknown as ScriptLoader,
    ...{ maxCallsInFlight, busy, held: () => (state.held += 1) },
  });
  /** Makes a call with this text. @returns the call, and what it was settled with */
  const call = (text: string, { key = 'k', wait }: { key?: string; wait?: Wait } = {}) => {
    const made = callOf(script, wait);
    compiled.encode(made.call, { any: listed ? [key] : key }, { text });
    runner.submit(made.call);
    return made;
  };
  /** Makes calls that leave as one group, after one that leaves alone and gets its reply. */
  const group = async (...texts: string[]) => {
    call('first');
    const calls = texts.map((text) => call(text));
    await turn();
    a.sent[0]?.done('first reply');
    return calls;
  };
  const { sha, body } = compiled.formFor(1);
  return { runner, compiled, a, connection, busy, state, call, group, sha, body };
}

/** The error that a call was settled with; undefined if it has none. */
export function codeOf({ settled }: { settled: unknown[] }): string | undefined {
  return (settled[0] as { code?: string } | undefined)?.code;
}
