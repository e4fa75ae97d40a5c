import {
  CommandFailure,
  type DedicatedConnection,
  type RedisCommand,
  type RedisConnection,
  type RedisNode,
} from '../connection/port';
import { asFailure } from '../connection/ioredis-node';
import { publish } from '../script-registry.events';
import type { ScriptLoader } from '../script-loader';
import type { Call } from './call';
import type { CompiledScript } from './compiled-script';
import { Lane } from './lane';
import { asksForSingles, callError, isNoScript } from './settle';
import { slotOf } from './slots';

const MAX_TRIES = 3;

/** What the runners of one registry share. */
export interface RunnerContext {
  readonly registry: string;
  readonly connection: RedisConnection;
  readonly loader: ScriptLoader;
  readonly maxGroupsInFlight: number;
  /** Lanes with calls waiting or out. */
  readonly busy: Set<Lane>;
  /** A lane has calls and no node to send them to. */
  held(): void;
  /** The last busy lane has become idle. */
  idle(): void;
}

/** Where one try of a group goes, and how its scripts get there when they are missing. */
interface Route {
  readonly id: string;
  send(command: RedisCommand): Promise<{ raw: unknown; replicas: number }>;
  load(): Promise<unknown>;
}

/** Runs the calls of one script: into lanes by slot, out as groups, and back to each caller. */
export class ScriptRunner {
  private readonly lanes = new Map<number, Lane>();
  private readonly waitLanes = new Map<number, Lane>();

  constructor(
    readonly script: CompiledScript,
    private readonly context: RunnerContext,
  ) {}

  submit(call: Call): void {
    const slot = this.context.connection.clustered ? slotOf(call.keys[0] ?? '') : 0;
    const lanes = call.wait ? this.waitLanes : this.lanes;
    let lane = lanes.get(slot);
    if (lane === undefined) {
      lane = this.makeLane(slot, call.wait !== undefined);
      lanes.set(slot, lane);
    }
    this.context.busy.add(lane);
    lane.submit(call);
  }

  private makeLane(slot: number, waits: boolean): Lane {
    const { script, context } = this;
    const lane: Lane = new Lane({
      maxCalls: script.maxCalls,
      maxChars: script.maxChars,
      // WAIT blocks its connection, so a second group could only queue behind it.
      maxInFlight: waits ? 1 : context.maxGroupsInFlight,
      open: () => this.openNode(slot) !== undefined,
      send: (calls, inFlight) => this.send(slot, calls, inFlight, waits),
      idle: () => {
        context.busy.delete(lane);
        if (context.busy.size === 0) context.idle();
      },
    });
    return lane;
  }

  private openNode(slot: number): RedisNode | undefined {
    const { connection, loader } = this.context;
    const node = connection.nodeFor(slot);
    if (node?.ready && loader.settled(node)) return node;
    this.context.held();
    return undefined;
  }

  private async send(slot: number, calls: readonly Call[], inFlight: number, waits: boolean): Promise<void> {
    const node = this.openNode(slot);
    if (node === undefined) {
      return this.failAll(calls, new CommandFailure('not-sent', 'the node went away', undefined));
    }
    const { registry, loader } = this.context;
    publish('groupSent', () => ({ registry, script: this.script.name, node: node.id, calls: calls.length, inFlight }));
    await this.attempt(calls, {
      id: node.id,
      send: waits
        ? (command) => this.sendAndWait(node, command, calls)
        : async ([name, args]) => ({ raw: await node.send(name, args), replicas: 0 }),
      load: () => loader.load(node),
    });
  }

  /** Up to three tries: NOSCRIPT alone proves that nothing ran, so nothing else is tried again. */
  private async attempt(calls: readonly Call[], route: Route, tries = MAX_TRIES): Promise<void> {
    const { script, context } = this;
    // On a later try, those whose deadline has passed meanwhile were told that nothing is known, and stay behind.
    const live = tries === MAX_TRIES ? calls : calls.filter((call) => !call.settled);
    if (live.length === 0) return;
    const form = script.formFor(live.length);
    const [name, head] = tries === 1 ? ['EVAL', form.body] : ['EVALSHA', form.sha];
    try {
      const { raw, replicas } = await route.send([name, script.command(head, live)]);
      this.script.settle(raw, live, replicas, (call, problem) => this.fail(call, problem));
    } catch (error) {
      const failure = asFailure(error);
      if (isNoScript(failure) && tries > 1) {
        await route.load();
        publish('scriptsHealed', () => ({ registry: context.registry, node: route.id, script: script.name }));
        return this.attempt(calls, route, tries - 1);
      }
      if (asksForSingles(failure, live.length) && route.id !== ROUTED) return this.sendSingly(live, failure);
      this.failAll(live, failure);
    }
  }

  /** The client's own routing follows what the group could not: another node, a slot on its way, a key of its own. */
  private async sendSingly(calls: readonly Call[], failure: CommandFailure): Promise<void> {
    const { connection, loader } = this.context;
    if (failure.code === 'MOVED') connection.refresh();
    const route: Route = {
      id: ROUTED,
      send: async ([name, args]) => ({ raw: await connection.sendRouted(name, args), replicas: 0 }),
      load: () => Promise.all(connection.nodes().map((node) => loader.load(node))),
    };
    await Promise.all(calls.map((call) => this.attempt([call], route)));
  }

  private async sendAndWait(
    node: RedisNode,
    command: RedisCommand,
    calls: readonly Call[],
  ): Promise<{ raw: unknown; replicas: number }> {
    const replicas = Math.max(...calls.map(({ wait }) => wait?.replicas ?? 0));
    const timeoutMs = Math.max(...calls.map(({ wait }) => wait?.timeoutMs ?? 0));
    const connection: DedicatedConnection = await this.context.connection.dedicated(node);
    const [raw, acknowledged] = await connection.sendAll([command, ['WAIT', [String(replicas), String(timeoutMs)]]]);
    if (raw instanceof CommandFailure) throw raw;
    // A WAIT that failed confirms nobody; the script's own answer stands.
    return { raw, replicas: acknowledged instanceof CommandFailure ? 0 : Number(acknowledged) };
  }

  private failAll(calls: readonly Call[], failure: CommandFailure): void {
    for (const call of calls) this.fail(call, callError(this.script.name, failure));
  }

  private fail(call: Call, error: Error): void {
    if (call.reject(error))
      publish('callFailed', () => ({ registry: this.context.registry, script: this.script.name, error }));
  }
}

const ROUTED = 'routed by the client';
