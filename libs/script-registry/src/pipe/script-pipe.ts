import { nextTurn, slotOf } from '../../../internal/src';
import type { CommandFailure, RedisNode } from '../connection/port';
import { events } from '../script-registry.events';
import { type Call, type CallSender, FIRST_KEY, type Wait } from './call';
import { GroupPace } from './pace';
import { Recovery, type RecoveryHost } from './recovery';
import type { ScriptCodec } from './script-codec';
import { asFailure, settle } from './settle';

/**
 * A new call is sent at once, and alone, while fewer calls than this are in flight for its script and hash slot. Otherwise it waits for the
 * end of the turn of the event loop, and is sent together with other calls.
 * See DECISIONS.md: few-calls-go-alone
 */
const FEW = 2;

/**
 * Calls are sent together in groups. If this many groups are in flight and Redis or this process is busy, a group that is not full waits
 * for the next reply, so that more calls can join it. A smaller number would delay calls although few groups are in flight.
 * See DECISIONS.md: group-leaves-at-once-when-idle
 */
const CROWDED_GROUPS_IN_FLIGHT = 4;

/**
 * Maximum length of the keys and arguments of several calls that are sent together, in characters (Buffers in bytes). A longer call is sent
 * alone.
 */
const MAX_CHARS = 65_536;

/**
 * Maximum number of keys and arguments of several calls that are sent together. Otherwise scripts that take lists would block Redis for
 * longer than others.
 */
const MAX_WORDS = 4_096;

/** Objects and functions that all queues of one script share. */
export interface LaneHost {
  readonly codec: ScriptCodec;
  readonly pace: GroupPace;
  readonly recovery: Recovery;
  /** Returns the node to which calls with keys in this hash slot can be sent now; undefined if no such node is ready. */
  open(slot: number): RedisNode | undefined;
  /** Rejects a call. Does nothing if the call has a result or an error already. */
  readonly fail: (call: Call, error: Error) => void;
  /** Publishes the event `groupSent`. @returns a function that publishes the event `groupEnded` */
  publishSent(node: RedisNode, calls: number, inFlight: number): () => void;
  /** Called when a queue has no calls any more, to remove it. */
  release(lane: Lane): void;
}

/**
 * Queue of the calls of one script whose keys are in one hash slot, and that have the same options for WAIT. A Redis that is not a Cluster
 * counts as one slot. While few calls are in flight, each call is sent alone. Otherwise calls are sent together, in groups.
 */
export class Lane implements CallSender {
  private queue: Call[] = [];
  private queuedChars = 0;
  private scheduled = false;
  private callsInFlight = 0;
  private aloneInFlight = 0;
  private groupsInFlight = 0;
  /**
   * True while calls are sent together: from the first call that had to wait, until few calls are left. Callers that get their replies at
   * the same time often call again at the same time, so that their next calls can share a command, too.
   */
  private crowd = false;
  /**
   * Number of calls in flight up to which a call is sent alone. If the calls of the script are always sent alone, this is `maxInFlight`.
   * With WAIT, this is 0.
   */
  private readonly few: number;

  constructor(
    private readonly host: LaneHost,
    /** Key under which ScriptPipe finds this queue. */
    readonly id: number | string,
    readonly slot: number,
    readonly wait: Wait | undefined,
    private readonly maxInFlight: number,
  ) {
    this.few = wait ? 0 : host.codec.group === undefined ? maxInFlight : Math.min(FEW, maxInFlight);
  }

  get idle(): boolean {
    return this.queue.length === 0 && this.callsInFlight === 0;
  }

  /**
   * Sends a call at once, or puts it into the queue. There, the call waits for other calls that are sent in the same command, for a
   * connected node, or for replies to earlier calls.
   */
  submit(call: Call): void {
    if (this.callsInFlight < this.few && this.queue.length === 0 && !this.crowd) {
      const node = this.host.open(this.slot);
      if (node !== undefined) return this.sendAlone(node, call);
    } else this.crowd = true;
    this.queue.push(call);
    this.queuedChars += call.chars;
    if (this.full) this.pump();
    else if (!this.waits) this.pumpSoon();
  }

  /** Sends as many calls of the queue as may be sent now. */
  pump(): void {
    while (this.queue.length > 0 && this.callsInFlight < this.maxInFlight) {
      if (this.waits && !this.full) return;
      const node = this.host.open(this.slot);
      if (node === undefined) return;
      const isFew = this.callsInFlight + this.queue.length <= this.few;
      if (isFew) this.crowd = false;
      const calls = this.take(isFew ? 1 : this.host.pace.calls);
      // Even a single call counts as a group here if calls are being sent together, so that its time is measured.
      if (calls.length === 1 && this.few > 0 && (isFew || this.host.codec.group === undefined))
        this.sendAlone(node, calls[0] as Call);
      else if (calls.length > 0) this.sendGroup(node, calls);
    }
  }

  /** Removes this queue from its host, so that it gets no more calls. Call it only while the queue is empty and nothing is in flight. */
  release(): void {
    this.host.release(this);
  }

  /** Removes the calls that were rejected while they waited in the queue. */
  dropSettled(): void {
    this.queue = this.queue.filter(({ settled }) => !settled);
    this.queuedChars = this.queue.reduce((sum, { chars }) => sum + chars, 0);
  }

  replied(call: Call, problem: Error | undefined): void {
    if (problem !== undefined) this.host.fail(call, problem);
    call.observed?.();
    this.aloneInFlight -= 1;
    this.ended(1);
  }

  failed(call: Call, failure: CommandFailure): void {
    void this.host.recovery.recover([call], call.node as RedisNode, failure).finally(() => {
      call.observed?.();
      this.aloneInFlight -= 1;
      this.ended(1);
    });
  }

  /** Number of commands in flight, each with one call or with a group of calls. */
  private get commandsInFlight(): number {
    return this.groupsInFlight + this.aloneInFlight;
  }

  private get full(): boolean {
    return this.queue.length >= this.host.pace.calls || this.queuedChars >= MAX_CHARS;
  }

  /** True if a group that is not full should wait for the next reply. */
  private get waits(): boolean {
    return this.groupsInFlight >= CROWDED_GROUPS_IN_FLIGHT && this.host.pace.crowded;
  }

  /**
   * Sends queued calls after the I/O callbacks of this turn of the event loop, so that callers that get replies in this turn can add their
   * calls.
   */
  private pumpSoon(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    nextTurn(() => {
      this.scheduled = false;
      this.pump();
    });
  }

  /** Removes the first calls of the queue that may be sent together, and returns them. Drops calls that were rejected while they waited. */
  private take(most: number): Call[] {
    const calls: Call[] = [];
    let [at, chars, words] = [0, 0, 0];
    for (; at < this.queue.length && calls.length < most; at++) {
      const call = this.queue[at] as Call;
      if (call.settled) continue;
      const first = calls[0] ?? call;
      const fits = first.words.length === call.words.length && first.keyCount === call.keyCount;
      words += call.words.length;
      if (calls.length > 0 && (!fits || chars + call.chars > MAX_CHARS || words > MAX_WORDS)) break;
      chars += call.chars;
      calls.push(call);
    }
    for (const call of this.queue.splice(0, at)) this.queuedChars -= call.chars;
    return calls;
  }

  private sendAlone(node: RedisNode, call: Call): void {
    this.callsInFlight += 1;
    this.aloneInFlight += 1;
    call.inFlight = true;
    call.sender = this;
    call.node = node;
    if (events.groupSent.hasSubscribers || events.groupEnded.hasSubscribers)
      call.observed = this.host.publishSent(node, 1, this.commandsInFlight);
    node.run('EVALSHA', call.words, call);
  }

  private sendGroup(node: RedisNode, calls: readonly Call[]): void {
    this.callsInFlight += calls.length;
    this.groupsInFlight += 1;
    const observed = this.host.publishSent(node, calls.length, this.commandsInFlight);
    const ended = (): void => {
      observed();
      this.groupsInFlight -= 1;
      this.ended(calls.length);
    };
    if (this.wait) void this.host.recovery.sendAndWait(node, calls, this.wait).finally(ended);
    else this.sendTogether(node, calls, ended);
  }

  private sendTogether(node: RedisNode, calls: readonly Call[], ended: () => void): void {
    const { codec, pace, recovery, fail } = this.host;
    for (const call of calls) call.inFlight = true;
    const sentAt = performance.now();
    const receiver = {
      resent: () => {
        for (const call of calls) call.resent();
      },
      replied: (raw: unknown): void => {
        pace.answered(calls.length, sentAt, performance.now());
        try {
          settle(codec.name, calls, raw, fail);
        } catch (error) {
          return receiver.failed(asFailure(error));
        }
        ended();
      },
      failed: (failure: CommandFailure) => void recovery.recover(calls, node, failure).finally(ended),
    };
    // Nothing below should throw. If something does, the callers get the error at once instead of at their deadlines.
    try {
      const command = codec.command(calls);
      if (!pace.measures(calls.length, sentAt)) return node.run('EVALSHA', command, receiver);
      node
        .sendMeasured('EVALSHA', command, (ms) => pace.measured(calls.length, ms), receiver.resent)
        .then(
          (raw) => receiver.replied(raw),
          (error: unknown) => receiver.failed(asFailure(error)),
        );
    } catch (error) {
      receiver.failed(asFailure(error));
    }
  }

  /** Called when calls have a result or an error, so that queued calls can be sent. */
  private ended(calls: number): void {
    this.callsInFlight -= calls;
    if (this.queue.length === 0) return;
    // Callers that have just got their replies often make the next call in this turn of the event loop. If the waiting calls do not fill a
    // command yet, they wait for these calls, to be sent in the same command.
    if (this.full) this.pump();
    else this.pumpSoon();
  }
}

/**
 * Maximum number of calls of one script that are in flight; on a Cluster, per hash slot. The last group may exceed it. Other calls wait,
 * because a call that never left the queue surely had no effect at its deadline, while a call in flight may have run.
 */
export const MAX_CALLS_IN_FLIGHT = 4_096;

/** Objects that all scripts of a ScriptRegistry share to send their calls. */
export interface PipeContext extends Pick<RecoveryHost, 'registry' | 'connection' | 'loader'> {
  readonly maxCallsInFlight: number;
  /** Queues that have calls, or had some until recently. */
  readonly busy: Set<Lane>;
  /** Called when calls must wait, because their node is not connected, or its first load of scripts has not ended. */
  held(): void;
}

/** Sends the calls of one script to Redis, and passes the replies to the callers. */
export class ScriptPipe implements LaneHost {
  readonly pace: GroupPace;
  readonly recovery: Recovery;
  /** Queues of this script that have calls, or had some until recently: one for each hash slot and each set of options for WAIT. */
  private readonly lanes = new Map<number | string, Lane>();
  /** Queue of the calls without WAIT. Undefined on a Cluster, where each hash slot has its own queue. */
  private main: Lane | undefined;

  constructor(
    readonly codec: ScriptCodec,
    private readonly context: PipeContext,
  ) {
    this.pace = new GroupPace(codec.maxCalls);
    const { registry, connection, loader } = context;
    this.recovery = new Recovery({ registry, connection, loader, codec, fail: this.fail });
  }

  /** Sends a call, at once or later. `ScriptCodec.encode` must have encoded the call before. */
  submit(call: Call): void {
    if (this.main !== undefined && call.wait === undefined) return this.main.submit(call);
    const { connection, maxCallsInFlight, busy } = this.context;
    const slot = connection.clustered ? slotOf(call.words[FIRST_KEY] as string) : 0;
    // A WAIT follows each group of calls, so only calls with the same options for WAIT can be sent together.
    const id = call.wait ? `${slot}:${call.wait.replicas}:${call.wait.timeoutMs}` : slot;
    let lane = this.lanes.get(id);
    if (lane === undefined) {
      // WAIT blocks its connection, so a second group would have to wait behind the first one anyway.
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
   * Returns the node to which calls with keys in this hash slot can be sent now. Returns undefined if the node is not connected, or if its
   * first load of scripts has not ended.
   * See DECISIONS.md: load-settled-before-calls
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
