import { nextTurn, thrownText } from '../../../internal/src';
import type { CommandArg, CommandFailure, Receiver, RedisNode } from '../connection/port';
import type { ScriptDefinition, ScriptReply } from '../script-definition';
import { ReplyDecodeError } from '../script-registry.errors';

/** Parameters of WAIT, which follows the script of a `runAndWait` call. */
export interface Wait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** Sender of a call that was sent alone. It continues when the command has ended. */
export interface CallSender {
  /** @param problem the error if the reply could not be decoded; then the call is not settled */
  replied(call: Call, problem: Error | undefined): void;
  failed(call: Call, failure: CommandFailure): void;
}

const NO_WORDS: CommandArg[] = [];

/** Index of the first key in `words`. */
export const FIRST_KEY = 2;

/** One call of a script: its encoded parameters, its deadline, and the promise of its caller. */
export class Call implements Receiver {
  /** Arguments of its EVALSHA: SHA1 hash, number of keys, keys, arguments. */
  words: CommandArg[] = NO_WORDS;
  keyCount = 0;
  /** Length of all keys and arguments together: characters of text, bytes of Buffers. */
  chars = 0;
  /** Number of replicas that had the write when WAIT ended; 0 without WAIT, or if WAIT failed. */
  replicas = 0;
  /** True from the sending of a command with this call until that command fails. */
  inFlight = false;
  /**
   * True if a command with this call may have run without a reply: it failed, or was written again. Stays true, even if a later
   * command gets a reply.
   */
  lost = false;
  /** True once the caller has a result or an error. Later replies are ignored. */
  settled = false;
  /** Sender and node of a call that was sent alone. */
  sender: CallSender | undefined = undefined;
  node: RedisNode | undefined = undefined;
  /** Publishes that the command has ended, if somebody listens. */
  observed: (() => void) | undefined = undefined;
  /** Neighbours in the list of calls that are not settled, see Deadlines. */
  previous: Call | undefined = undefined;
  next: Call | undefined = undefined;

  /**
   * @param expiresAt when the call is rejected, by the clock of Deadlines, ms
   * @param wait undefined for calls without WAIT
   */
  constructor(
    readonly script: ScriptDefinition,
    readonly expiresAt: number,
    readonly wait: Wait | undefined,
    private readonly succeed: (result: never) => void,
    private readonly fail: (error: Error) => void,
  ) {}

  /** True if the script may have run for this call, or may still run. */
  get mayHaveRun(): boolean {
    return this.inFlight || this.lost;
  }

  resent(): void {
    this.lost = true;
  }

  replied(raw: unknown): void {
    const problem = this.resolve(raw);
    this.sender?.replied(this, problem);
  }

  failed(failure: CommandFailure): void {
    this.sender?.failed(this, failure);
  }

  /**
   * Resolves the caller's promise with the decoded reply. Does nothing if the caller has a result or an error already.
   *
   * @returns the error if the script's `reply` function threw; then the promise is still pending
   */
  resolve(raw: unknown): ReplyDecodeError | undefined {
    if (this.settled) return undefined;
    const { script, wait } = this;
    let result: unknown;
    try {
      result = script.reply((script.replyBytes ? asBytes(raw) : asText(raw)) as never, this.lost);
    } catch (cause) {
      const message = `${script.name} ran, but its \`reply\` function threw, so the result is lost: ${thrownText(cause)}`;
      return new ReplyDecodeError(message, { cause });
    }
    this.end();
    this.succeed((wait ? { result, replicas: this.replicas } : result) as never);
    return undefined;
  }

  /** Rejects the caller's promise. @returns false if the caller had a result or an error already */
  reject(error: Error): boolean {
    if (this.settled) return false;
    this.end();
    this.fail(error);
    return true;
  }

  private end(): void {
    this.settled = true;
    const { previous, next } = this;
    if (previous !== undefined) previous.next = next;
    if (next !== undefined) next.previous = previous;
    this.previous = this.next = undefined;
  }
}

/**
 * Converts the Buffers of a reply to text, in the same arrays. ioredis would copy every array and check every integer in it.
 * See DECISIONS.md: replies-read-as-bytes
 */
function asText(reply: unknown): ScriptReply {
  if (typeof reply === 'number') return reply;
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (!Array.isArray(reply)) return reply as ScriptReply;
  for (let i = 0; i < reply.length; i++) if (typeof reply[i] !== 'number') reply[i] = asText(reply[i]);
  return reply as ScriptReply;
}

/** Clients give RESP3's big numbers, and node-redis also its doubles, as text. */
function asBytes(reply: unknown): unknown {
  if (typeof reply === 'string') return Buffer.from(reply);
  return Array.isArray(reply) ? reply.map(asBytes) : reply;
}

/** Longest time between two readings of the clock while calls wait, ms, if this process is not stalled. */
const STEP_MS = 10;

/** Delay of a timer from which on this process counts as stalled, ms. Smaller delays are normal. */
const LATE_MS = 5;

/** Number of past stalls that are kept, for calls with `startedAtMs` in the past. They have seldom seen more than one stall. */
const KEPT_STALLS = 16;

/** A time in which this process was too busy to run its timers. */
interface Stall {
  /** When the stall ended, by `performance.now()`, ms. */
  readonly endedAt: number;
  readonly lastedMs: number;
}

/**
 * Deadlines of all calls. They have one timer, and a clock that stops during stalls of this process.
 *
 * Deadlines limit how long Redis may take. During a stall (rendering, garbage collection, a suspended machine) this process
 * writes no call and reads no reply, so that time is not counted, but for about its first 10 ms.
 * See DECISIONS.md: deadlines-ignore-own-stalls
 */
export class Deadlines {
  private timer: NodeJS.Timeout | undefined;
  /** When the timer fires, by `performance.now()`, ms. */
  private ringsAt = Infinity;
  /** No call expires before this time, by the clock of this class, ms. */
  private nextDue = Infinity;
  /** Sum of all stalls while calls waited, ms. */
  private stalledMs = 0;
  /** The latest stalls, oldest first. */
  private readonly stalls: Stall[] = [];
  private holding = false;
  /**
   * The calls that are not settled, as a ring of neighbours that begins and ends here. A Set would keep ended calls in memory for a
   * while, see DECISIONS.md: no-set-on-the-hot-path
   */
  private readonly unsettled: { previous: Call; next: Call };

  /**
   * @param reject rejects a call at its deadline
   * @param checked called after each check of the deadlines. Returns false if no call is waiting or in flight
   */
  constructor(
    private readonly reject: (call: Call) => void,
    private readonly checked: (expired: boolean) => boolean,
  ) {
    const head = {} as Call;
    this.unsettled = Object.assign(head, { previous: head, next: head });
  }

  /** Returns when a call expires, by the clock of this class, ms. @param since start of the call, by `performance.now()`, ms */
  dueAt(since: number, limitMs: number): number {
    // After a stall, sockets may come before the timer. The stall has ended, so it must not lengthen the deadline of a new call.
    if (since - this.ringsAt > LATE_MS) {
      this.noteStall(since, since - this.ringsAt);
      this.ringBy(since);
    }
    return since + limitMs - this.stalledMs + this.stalledSince(since);
  }

  /** Rejects the call at its deadline, unless it is settled before. */
  watch(call: Call): void {
    const { expiresAt } = call;
    const { unsettled } = this;
    const last = unsettled.previous;
    call.previous = last;
    call.next = unsettled as Call;
    last.next = unsettled.previous = call;
    if (expiresAt < this.nextDue) this.nextDue = expiresAt;
    if (expiresAt + this.stalledMs < this.ringsAt) this.ringBy(performance.now());
  }

  /** Keeps the process alive until no call waits or is in flight: without a connection, no socket does so. */
  hold(): void {
    this.holding = true;
    this.timer?.ref();
  }

  /** Rejects all calls that are not settled. */
  rejectAll(): void {
    for (const call of this.calls()) this.reject(call);
  }

  close(): void {
    clearTimeout(this.timer);
    this.holding = false;
    this.timer = undefined;
    this.ringsAt = Infinity;
    this.nextDue = Infinity;
  }

  /** Returns the sum of the stalls after a time of `performance.now()`, ms. */
  private stalledSince(since: number): number {
    let ms = 0;
    for (let i = this.stalls.length - 1; i >= 0; i--) {
      const { endedAt, lastedMs } = this.stalls[i] as Stall;
      if (endedAt <= since) break;
      ms += Math.min(lastedMs, endedAt - since);
    }
    return ms;
  }

  private noteStall(endedAt: number, lastedMs: number): void {
    this.stalledMs += lastedMs;
    this.stalls.push({ endedAt, lastedMs });
    if (this.stalls.length > KEPT_STALLS) this.stalls.shift();
  }

  /** Sets the timer to the next deadline, but at most `STEP_MS` ahead. */
  private ringBy(now: number): void {
    const dueAt = this.nextDue + this.stalledMs;
    this.ringsAt = dueAt > now ? Math.min(dueAt, now + STEP_MS) : now + STEP_MS;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ring(), Math.max(1, Math.ceil(this.ringsAt - now)));
    // The timer need not keep the process alive for a call in flight, which has a socket. To switch it for every call is slow.
    if (!this.holding) this.timer.unref();
  }

  private ring(): void {
    const rangAt = performance.now();
    const lateMs = rangAt - this.ringsAt;
    if (lateMs > LATE_MS) this.noteStall(rangAt, lateMs);
    const now = rangAt - this.stalledMs;
    // The timer is set before the work below, so that slow work counts as a stall.
    this.ringBy(rangAt);
    // Node runs timers before sockets, and setImmediate after both. So replies that have arrived are read before calls expire.
    nextTurn(() => this.expire(now));
  }

  private expire(now: number): void {
    const due = now >= this.nextDue ? this.calls().filter((call) => call.expiresAt <= now) : [];
    // A subscriber of `callFailed` may make a new call meanwhile, so the next deadline is read afterwards.
    for (const call of due) this.reject(call);
    if (due.length > 0 || now >= this.nextDue) {
      this.nextDue = this.calls().reduce((next, { expiresAt }) => Math.min(next, expiresAt), Infinity);
    }
    if (!this.checked(due.length > 0) || this.nextDue === Infinity) this.close();
  }

  private calls(): Call[] {
    const calls: Call[] = [];
    const { unsettled } = this;
    for (let call = unsettled.next; call !== unsettled; call = call.next as Call) calls.push(call);
    return calls;
  }
}
