import { slotOf } from '../../../internal/src';
import type { RedisNode } from '../connection/port';
import { events } from '../script-registry.events';
import { FIRST_KEY, type Call } from './call';
import { Lane, type LaneHost } from './lane';
import { GroupPace } from './pace';
import { Recovery, type RecoveryHost } from './recovery';
import type { ScriptCodec } from './script-codec';

/**
 * With this many calls of one script in flight (on a Cluster: of one script and slot), further calls wait. One group may exceed it.
 * Calls that wait until their deadline were not sent, while calls in flight may have run.
 */
export const MAX_CALLS_IN_FLIGHT = 4_096;

/** Parts of a ScriptRegistry that the pipes of all its scripts share. */
export interface PipeContext extends Pick<RecoveryHost, 'registry' | 'connection' | 'loader'> {
  readonly maxCallsInFlight: number;
  /** Lanes with calls waiting or in flight, and lanes that had some lately. */
  readonly busy: Set<Lane>;
  /** Called when a lane has calls, but no node to send them to. */
  held(): void;
}

/** The way of one script's calls to Redis and back. */
export class ScriptPipe implements LaneHost {
  readonly pace: GroupPace;
  readonly recovery: Recovery;
  /** Lanes that had calls lately. There may be one for each slot, and for each `wait` of calls. */
  private readonly lanes = new Map<number | string, Lane>();
  /** The lane of calls without `wait` on a single Redis. */
  private main: Lane | undefined;

  constructor(
    readonly codec: ScriptCodec,
    private readonly context: PipeContext,
  ) {
    this.pace = new GroupPace(codec.maxCalls);
    const { registry, connection, loader } = context;
    this.recovery = new Recovery({ registry, connection, loader, codec, fail: this.fail });
  }

  /** Sends a call at once or soon. It must be encoded. */
  submit(call: Call): void {
    if (this.main !== undefined && call.wait === undefined) return this.main.submit(call);
    const { connection, maxCallsInFlight, busy } = this.context;
    const slot = connection.clustered ? slotOf(call.words[FIRST_KEY] as string) : 0;
    // One WAIT follows each group, so only calls with the same WAIT can share groups.
    const id = call.wait ? `${slot}:${call.wait.replicas}:${call.wait.timeoutMs}` : slot;
    let lane = this.lanes.get(id);
    if (lane === undefined) {
      // WAIT blocks its connection, so a second group would only wait behind the first.
      lane = new Lane(this, id, slot, call.wait, call.wait ? 1 : maxCallsInFlight);
      this.lanes.set(id, lane);
      busy.add(lane);
      if (!connection.clustered && call.wait === undefined) this.main = lane;
    }
    lane.submit(call);
  }

  release(lane: Lane): void {
    this.lanes.delete(lane.id);
    this.context.busy.delete(lane);
    if (this.main === lane) this.main = undefined;
  }

  /**
   * Returns the node that can run calls of a slot now. Undefined if it is not connected, or its first load of scripts has not
   * ended. See DECISIONS.md: load-settled-before-calls
   */
  open(slot: number): RedisNode | undefined {
    const { connection, loader } = this.context;
    const node = connection.nodeFor(slot);
    if (node !== undefined && node.ready && loader.loaded.has(node)) return node;
    this.context.held();
    return undefined;
  }

  readonly fail = (call: Call, error: Error): void => {
    if (!call.reject(error)) return;
    events.callFailed.publish(() => ({ registry: this.context.registry, script: this.codec.name, error }));
  };

  publishSent(node: RedisNode, calls: number, inFlight: number): () => void {
    const group = { registry: this.context.registry, script: this.codec.name, node: node.id, calls };
    events.groupSent.publish(() => ({ ...group, inFlight }));
    const sentAt = performance.now();
    return () => events.groupEnded.publish(() => ({ ...group, durationMs: performance.now() - sentAt }));
  }
}
