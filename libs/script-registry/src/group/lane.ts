import type { Call } from './call';

/**
 * Groups in flight from which on a group that is not full waits for the next answer. Fewer would make small groups
 * wait for one another's round trip; more would send many groups of one call.
 * See DECISIONS.md: group-leaves-at-once-when-idle
 */
const PARTIAL_GROUPS_IN_FLIGHT = 4;

/** Most keys and arguments in one group, so that scripts over lists hold Redis no longer than others. */
const MAX_ELEMENTS = 4_096;

/** What a lane needs of the registry. */
interface LaneTransport {
  /** Most calls of the next group. */
  maxCalls(): number;
  readonly maxChars: number;
  readonly maxInFlight: number;
  /** Whether a group sent now would be written now. */
  open(): boolean;
  /** Sends the calls as one group and settles each of them; never rejects. */
  send(calls: readonly Call[], inFlight: number): Promise<void>;
  /** The lane has nothing left to do. */
  idle(): void;
}

/** The calls of one script and one slot, in order: the waiting ones, and the groups that are out. */
export class Lane {
  private queue: Call[] = [];
  private queuedChars = 0;
  private scheduled = false;
  // See DECISIONS.md: lone-call-waits-after-a-crowd
  /** Whether the last group was of one call: the next call then has nobody to wait for. */
  private alone = true;
  // An array: a Set's outgrown tables link to their successors, which makes dead calls survive young collections.
  // See DECISIONS.md: no-set-on-the-hot-path
  private readonly out: (readonly Call[])[] = [];

  constructor(private readonly transport: LaneTransport) {}

  /**
   * Takes a call. With nothing out and nothing waiting it leaves at once, unless calls have lately come in company;
   * otherwise with those of the same tick.
   */
  submit(call: Call): void {
    this.queue.push(call);
    this.queuedChars += call.chars;
    if (this.full || (this.alone && this.out.length === 0 && this.queue.length === 1)) this.pump();
    else if (!this.scheduled && this.out.length < PARTIAL_GROUPS_IN_FLIGHT) this.pumpSoon();
  }

  /** Sends what may leave now. */
  pump(): void {
    const { transport } = this;
    while (this.queue.length > 0 && this.out.length < transport.maxInFlight) {
      if (!this.full && this.out.length >= PARTIAL_GROUPS_IN_FLIGHT) return;
      if (!transport.open()) return;
      this.dispatch(this.take());
    }
  }

  /** Rejects every call that is due, and answers when the next one is; Infinity when none is left. */
  expire(now: number, reject: (call: Call) => void): number {
    const calls = [...this.out.flat(), ...this.queue].filter((call) => !call.settled);
    const due = calls.filter((call) => call.expiresAt <= now);
    const late = new Set(due);
    this.queue = this.queue.filter((call) => !late.has(call));
    this.queuedChars = this.queue.reduce((sum, { chars }) => sum + chars, 0);
    // Last: who is told may make a call on this very lane.
    for (const call of due) reject(call);
    this.checkIdle();
    return calls.reduce((next, call) => (late.has(call) ? next : Math.min(next, call.expiresAt)), Infinity);
  }

  /** Rejects whatever is waiting or out; used when the registry closes. */
  drain(reject: (call: Call) => void): void {
    this.expire(Infinity, reject);
  }

  private get full(): boolean {
    return this.queue.length >= this.transport.maxCalls() || this.queuedChars >= this.transport.maxChars;
  }

  private pumpSoon(): void {
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.pump();
    });
  }

  private take(): Call[] {
    const { maxChars } = this.transport;
    const maxCalls = this.transport.maxCalls();
    let [count, chars, elements] = [0, 0, 0];
    while (count < this.queue.length) {
      const call = this.queue[count] as Call;
      elements += call.keys.length + call.args.length;
      if (count === maxCalls || (count > 0 && (chars + call.chars > maxChars || elements > MAX_ELEMENTS))) break;
      chars += call.chars;
      count += 1;
    }
    this.queuedChars -= chars;
    return this.queue.splice(0, count);
  }

  private dispatch(calls: Call[]): void {
    this.out.push(calls);
    this.alone = calls.length === 1;
    const done = (): void => {
      this.out.splice(this.out.indexOf(calls), 1);
      // Those who were just answered may call again in this tick, so a group that is not full waits for them.
      if (this.full) this.pump();
      else if (this.queue.length > 0) this.pumpAfterAnswers();
      else this.checkIdle();
    };
    // A defect of ours is not hidden, but must not hold up the calls behind it for ever.
    void this.transport.send(calls, this.out.length).then(done, (defect: unknown) => {
      done();
      throw defect;
    });
  }

  private pumpAfterAnswers(): void {
    if (!this.scheduled) this.pumpSoon();
  }

  private checkIdle(): void {
    if (this.queue.length === 0 && this.out.length === 0) this.transport.idle();
  }
}
