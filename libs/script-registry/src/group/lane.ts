import { nextTurn } from '../../../internal/src';
import type { RedisNode } from '../connection/port';
import type { Call, Wait } from './call';
import type { GroupPace } from './pace';

/**
 * While Redis or this process is busy, a group that is not full waits for the next reply if this many groups are in flight. With a
 * smaller number, small groups would wait for each other's round trip.
 * See DECISIONS.md: group-leaves-at-once-when-idle
 */
const CROWDED_GROUPS_IN_FLIGHT = 4;

/** Most keys and arguments in a group of several calls, so that scripts with lists do not block Redis for longer than others. */
const MAX_ELEMENTS = 4_096;

/** Limits and actions that the lanes of one script share. */
export interface LaneHost {
  readonly pace: GroupPace;
  readonly maxChars: number;
  /** Returns the node that can run calls of a slot now; undefined if there is no such node yet. */
  open(slot: number): RedisNode | undefined;
  /** Sends the calls as one group, settles each of them, and then calls `lane.ended(calls)`. */
  send(node: RedisNode, calls: readonly Call[], lane: Lane): void;
  /** Called when the lane is idle at a periodic check. It gets no more calls. */
  release(lane: Lane): void;
}

/**
 * Queue of one script, slot and `wait`; a single Redis counts as one slot. It has the waiting calls in their order, and the groups
 * in flight.
 */
export class Lane {
  private queue: Call[] = [];
  private queuedChars = 0;
  private scheduled = false;
  /**
   * Set by each group that is sent: true if it has one call. A group of several calls that ends sets it to false. While it is true,
   * the next call is sent at once, if nothing is in flight or waiting.
   * See DECISIONS.md: lone-call-waits-after-a-crowd
   */
  private alone = true;
  private callsInFlight = 0;
  // An array, because a Set that grows leaves old tables behind, and these keep ended calls in memory for a while.
  // See DECISIONS.md: no-set-on-the-hot-path
  private readonly inFlight: (readonly Call[])[] = [];

  constructor(
    private readonly host: LaneHost,
    /** Key of the lane in its host. */
    readonly id: number | string,
    readonly slot: number,
    readonly wait: Wait | undefined,
    private readonly maxInFlight: number,
  ) {}

  get groupsInFlight(): number {
    return this.inFlight.length;
  }

  get idle(): boolean {
    return this.queue.length === 0 && this.inFlight.length === 0;
  }

  /**
   * Adds a call. The call is sent at once if it fills a group, or if nothing is in flight or waiting and `alone` is
   * true. Otherwise it is sent with the other calls of the same turn of the event loop, or after the next reply while
   * Redis or this process is busy. Calls wait while no node is connected, or `maxInFlight` calls are in flight.
   * See DECISIONS.md: group-leaves-at-once-when-idle
   */
  submit(call: Call): void {
    if (this.alone && this.idle) {
      const node = this.host.open(this.slot);
      if (node !== undefined) return this.dispatch(node, [call]);
    }
    this.queue.push(call);
    this.queuedChars += call.chars;
    if (this.full) this.pump();
    else if (!this.waits) this.pumpSoon();
  }

  pump(): void {
    while (this.queue.length > 0 && this.callsInFlight < this.maxInFlight) {
      if (this.waits && !this.full) return;
      const node = this.host.open(this.slot);
      if (node === undefined) return;
      this.dispatch(node, this.take());
    }
  }

  /** Rejects every call whose deadline has passed. @returns the next deadline; Infinity if no call is left */
  expire(now: number, reject: (call: Call) => void): number {
    const calls = [...this.inFlight.flat(), ...this.queue].filter((call) => !call.settled);
    const due = calls.filter((call) => call.expiresAt <= now);
    const late = new Set(due);
    this.queue = this.queue.filter((call) => !late.has(call));
    this.queuedChars = this.queue.reduce((sum, { chars }) => sum + chars, 0);
    // Callers are rejected last, since a subscriber of `callFailed` may make a new call on this lane.
    for (const call of due) reject(call);
    return calls.reduce((next, call) => (late.has(call) ? next : Math.min(next, call.expiresAt)), Infinity);
  }

  drain(reject: (call: Call) => void): void {
    this.expire(Infinity, reject);
  }

  /** Forgets a group, all calls of which are settled, and sends waiting calls. */
  ended(calls: readonly Call[]): void {
    // Replies mostly come in the order of the groups.
    if (this.inFlight[0] === calls) this.inFlight.shift();
    else this.inFlight.splice(this.inFlight.indexOf(calls), 1);
    this.callsInFlight -= calls.length;
    if (calls.length > 1) this.alone = false;
    // Callers that just got their replies may call again in this tick, so a group that is not full waits for them.
    if (this.full) this.pump();
    else if (this.queue.length > 0) this.pumpSoon();
  }

  /** Removes an idle lane from its host. */
  release(): void {
    this.host.release(this);
  }

  private get full(): boolean {
    return this.queue.length >= this.host.pace.calls || this.queuedChars >= this.host.maxChars;
  }

  /** True if a group that is not full waits for the next reply. */
  private get waits(): boolean {
    return this.inFlight.length >= CROWDED_GROUPS_IN_FLIGHT && this.host.pace.crowded;
  }

  /** Calls `pump` in a `setImmediate`: after the I/O callbacks of this turn of the event loop. */
  private pumpSoon(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    nextTurn(() => {
      this.scheduled = false;
      this.pump();
    });
  }

  private take(): Call[] {
    const { pace, maxChars } = this.host;
    let [count, chars, elements] = [0, 0, 0];
    while (count < this.queue.length) {
      const call = this.queue[count] as Call;
      elements += call.keys.length + call.args.length;
      if (count === pace.calls || (count > 0 && (chars + call.chars > maxChars || elements > MAX_ELEMENTS))) break;
      chars += call.chars;
      count += 1;
    }
    this.queuedChars -= chars;
    return this.queue.splice(0, count);
  }

  private dispatch(node: RedisNode, calls: Call[]): void {
    this.inFlight.push(calls);
    this.callsInFlight += calls.length;
    this.alone = calls.length === 1;
    this.host.send(node, calls, this);
  }
}
