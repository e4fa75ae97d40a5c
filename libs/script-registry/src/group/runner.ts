import {
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type OnFailure,
  type OnReply,
  type RedisCommand,
  type RedisConnection,
  type RedisNode,
} from '../connection/port';
import { events } from '../script-registry.events';
import type { ScriptLoader } from '../script-loader';
import type { Call, Wait } from './call';
import type { CompiledScript } from './compiled-script';
import { Lane, type LaneHost } from './lane';
import { GroupPace } from './pace';
import { asFailure, asksForSingles, callError } from './settle';
import { slotOf } from '../../../internal/src';

const MAX_TRIES = 3;

/** Parts of a ScriptRegistry that all its runners share. */
export interface RunnerContext {
  readonly registry: string;
  readonly connection: RedisConnection;
  readonly loader: ScriptLoader;
  readonly maxCallsInFlight: number;
  /** Lanes with calls waiting or in flight, and lanes that had some lately. */
  readonly busy: Set<Lane>;
  /** Called when a lane has calls, but no node to send them to. */
  held(): void;
}

type Took = (ms: number | undefined) => void;

/** Target of a group: how to send commands there and how to load missing scripts. */
interface Route {
  readonly id: string;
  /** @param took as for `RedisNode.sendMeasured`; not called if this route does not measure */
  send(name: string, args: CommandArg[], done: OnReply, failed: OnFailure, took: Took | undefined): void;
  /** Loads the scripts. @returns true if they are loaded now */
  load(): Promise<boolean>;
}

/** Runs the calls of one script: queues them in a Lane for each slot, sends groups, and resolves or rejects each call. */
export class ScriptRunner implements LaneHost {
  /** Lanes that had calls lately. There may be one for each slot, and for each `wait` of calls. */
  private readonly lanes = new Map<number | string, Lane>();
  readonly pace: GroupPace;
  private route: (Route & { readonly node: RedisNode }) | undefined;

  constructor(
    readonly script: CompiledScript,
    private readonly context: RunnerContext,
  ) {
    this.pace = new GroupPace(script.maxCalls);
  }

  get maxChars(): number {
    return this.script.maxChars;
  }

  submit(call: Call): void {
    const slot = this.context.connection.clustered ? slotOf(call.keys[0] as string) : 0;
    // One WAIT follows each group, so only calls with the same WAIT can share groups.
    const id = call.wait ? `${slot}:${call.wait.replicas}:${call.wait.timeoutMs}` : slot;
    let lane = this.lanes.get(id);
    if (lane === undefined) {
      // WAIT blocks its connection, so a second group would only wait behind the first.
      lane = new Lane(this, id, slot, call.wait, call.wait ? 1 : this.context.maxCallsInFlight);
      this.lanes.set(id, lane);
      this.context.busy.add(lane);
    }
    lane.submit(call);
  }

  release(lane: Lane): void {
    this.lanes.delete(lane.id);
    this.context.busy.delete(lane);
  }

  /**
   * Returns the node that can run calls of a slot now. Undefined if it is not connected, or its first load of scripts has not
   * ended. See DECISIONS.md: load-settled-before-calls
   */
  open(slot: number): RedisNode | undefined {
    const { connection, loader } = this.context;
    const node = connection.nodeFor(slot);
    if (node?.ready && loader.settled(node)) return node;
    this.context.held();
    return undefined;
  }

  send(node: RedisNode, calls: readonly Call[], lane: Lane): void {
    events.groupSent.publish(() => ({
      registry: this.context.registry,
      script: this.script.name,
      node: node.id,
      calls: calls.length,
      inFlight: lane.groupsInFlight,
    }));
    const { hasSubscribers } = events.groupEnded;
    const ended = hasSubscribers ? this.publishingEnd(node.id, calls, lane) : (): void => lane.ended(calls);
    if (lane.wait) this.endAfter(this.sendAndWait(node, calls, lane.wait), calls, ended);
    else this.attempt(calls, this.routeTo(node), MAX_TRIES, ended);
  }

  private publishingEnd(node: string, calls: readonly Call[], lane: Lane): () => void {
    const { registry } = this.context;
    const group = { registry, script: this.script.name, node, calls: calls.length };
    const sentAt = performance.now();
    return () => {
      events.groupEnded.publish(() => ({ ...group, durationMs: performance.now() - sentAt }));
      lane.ended(calls);
    };
  }

  /** Returns the route to a node; the same object while the node is the same. */
  private routeTo(node: RedisNode): Route {
    if (this.route?.node === node) return this.route;
    const { loader } = this.context;
    this.route = {
      node,
      id: node.id,
      send: (name, args, done, failed, took) => {
        if (took) node.sendMeasured(name, args, took).then(done, failed);
        else node.run(name, args, done, failed);
      },
      load: () => loader.load(node).then(() => loader.problem(node) === undefined),
    };
    return this.route;
  }

  /**
   * Sends the calls as one command, and again if Redis replies NOSCRIPT, since then nothing ran. The last try is an EVAL.
   *
   * @param tries how often the command may be sent
   * @param ended called when each call is settled
   */
  private attempt(calls: readonly Call[], route: Route, tries: number, ended: () => void): void {
    const { script, pace } = this;
    const size = calls.length;
    const form = script.formFor(size);
    const last = tries === 1;
    for (const call of calls) call.inFlight = true;
    // Only commands on the direct route are timed, because on other routes the time includes redirections or WAIT.
    const timed = route === this.route;
    const sentAt = timed ? performance.now() : 0;
    const took: Took | undefined = timed && pace.measures(size, sentAt) ? (ms) => pace.measured(size, ms) : undefined;
    const done: OnReply = (raw) => {
      if (timed) pace.answered(size, sentAt, performance.now());
      try {
        script.settle(raw, calls, this.fail);
      } catch (error) {
        this.failAll(calls, asFailure(error));
      } finally {
        ended();
      }
    };
    const failed: OnFailure = (failure) => {
      for (const call of calls) {
        call.inFlight = false;
        call.lost ||= failure.mayHaveRun;
      }
      this.endAfter(this.recover(calls, route, failure, tries), calls, ended);
    };
    try {
      route.send(last ? 'EVAL' : 'EVALSHA', script.command(last ? form.body : form.sha, calls), done, failed, took);
    } catch (error) {
      failed(asFailure(error));
    }
  }

  /** Calls `ended` after the work. If the work rejects, which it should not, rejects the calls that it left. */
  private endAfter(work: Promise<void>, calls: readonly Call[], ended: () => void): void {
    void work.catch((error: unknown) => this.failAll(calls, asFailure(error))).finally(ended);
  }

  /** Same as `attempt`. Resolves when each call is settled. */
  private tryAgain(calls: readonly Call[], route: Route, tries: number): Promise<void> {
    return new Promise((ended) => this.attempt(calls, route, tries, ended));
  }

  private async recover(calls: readonly Call[], route: Route, failure: CommandFailure, tries: number): Promise<void> {
    const { registry, connection } = this.context;
    if (route.id !== ROUTED && asksForSingles(failure, calls.length, connection.clustered)) {
      await this.sendSingly(calls, failure);
    } else if (failure.noScript && tries > 1) {
      const healed = await route.load();
      if (healed) events.scriptsHealed.publish(() => ({ registry, node: route.id, script: this.script.name }));
      const live = calls.filter(({ settled }) => !settled);
      if (live.length > 0) await this.tryAgain(live, route, tries - 1);
    } else this.failAll(calls, failure);
  }

  /**
   * Sends each call alone through the client's own routing, which follows redirections.
   * See DECISIONS.md: cluster-group-goes-to-the-master
   */
  private async sendSingly(calls: readonly Call[], failure: CommandFailure): Promise<void> {
    const { connection, loader } = this.context;
    if (failure.code === 'MOVED') connection.refresh();
    const route: Route = {
      id: ROUTED,
      send: (name, args, done, failed) => void connection.sendRouted(name, args).then(done, failed),
      load: async () => {
        const nodes = connection.nodes().filter(({ ready }) => ready);
        await Promise.all(nodes.map((node) => loader.load(node)));
        return nodes.every((node) => loader.problem(node) === undefined);
      },
    };
    // Calls that were rejected at their deadline in the meantime must not run any more.
    const live = calls.filter(({ settled }) => !settled);
    await Promise.all(live.map((call) => this.tryAgain([call], route, MAX_TRIES)));
  }

  private async sendAndWait(node: RedisNode, calls: readonly Call[], { replicas, timeoutMs }: Wait): Promise<void> {
    let connection: DedicatedConnection;
    try {
      connection = await this.context.connection.dedicated(node);
    } catch (error) {
      return this.failAll(calls, asFailure(error));
    }
    const live = calls.filter(({ settled }) => !settled);
    if (live.length === 0) return;
    const wait: RedisCommand = ['WAIT', [String(replicas), String(timeoutMs)]];
    const send: Route['send'] = (name, args, done, failed) => {
      void connection.sendAll([[name, args], wait]).then(([raw, waited]) => {
        if (raw instanceof CommandFailure) return failed(raw);
        // If WAIT failed, no replica is confirmed; the reply of the script is still valid.
        for (const call of live) call.replicas = waited instanceof CommandFailure ? 0 : Number(waited);
        done(raw);
      });
    };
    await this.tryAgain(live, { ...this.routeTo(node), send }, MAX_TRIES);
  }

  private failAll(calls: readonly Call[], failure: CommandFailure): void {
    for (const call of calls) this.fail(call, callError(this.script, failure, call.lost));
  }

  private readonly fail = (call: Call, error: Error): void => {
    if (call.reject(error)) {
      events.callFailed.publish(() => ({ registry: this.context.registry, script: this.script.name, error }));
    }
  };
}

/** `id` of routes that leave the choice of the node to the client. */
const ROUTED = 'routed by the client';
