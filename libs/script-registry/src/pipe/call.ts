import { nextTurn, thrownText } from '../../../internal/src';
import type { CommandArg, CommandFailure, Receiver, RedisNode } from '../connection/port';
import type { ScriptDefinition, ScriptReply } from '../script-definition';
import { ReplyDecodeError } from '../script-registry.errors';

export interface Wait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** Object that sent a call alone, not in a group. It is notified when Redis has replied. */
export interface CallSender {
  /** Called when the call has a reply. @param problem the error if the reply could not be decoded; the sender must then reject the call */
  replied(call: Call, problem: Error | undefined): void;
  failed(call: Call, failure: CommandFailure): void;
}

const NO_WORDS: CommandArg[] = [];

/** Index of the first key in the arguments of an EVALSHA. */
export const FIRST_KEY = 2;

/** One call of a script: its encoded keys and arguments, its deadline, and the promise that its caller awaits. */
export class Call implements Receiver {
  /** Arguments of the EVALSHA for this call: SHA1 hash, number of keys, keys, arguments. */
  words: CommandArg[] = NO_WORDS;
  keyCount = 0;
  /** Total length of the keys and arguments, to limit the size of a group. Texts count in characters, Buffers in bytes. */
  chars = 0;
  /** Number of replicas that had the writes of this call when WAIT ended; 0 without WAIT, or if WAIT failed. */
  replicas = 0;
  /** True while a command with this call is on its way to Redis, and has no reply. */
  inFlight = false;
  /**
   * True if this call may have run although its reply was lost: the command failed, or the client wrote it again. Stays true, even if a
   * later copy of the command gets a reply.
   */
  lost = false;
  /** True once the caller has a result or an error. A reply that arrives later is ignored. */
  settled = false;
  /** Object that sent this call alone, to `node`. Both are undefined if the call was not sent, or if it was sent in a group. */
  sender: CallSender | undefined = undefined;
  node: RedisNode | undefined = undefined;
  /** Publishes the event `groupEnded` for this call. Undefined if nobody subscribed to that event when the call was sent. */
  observed: (() => void) | undefined = undefined;
  /** Neighbours in the linked list of calls without a result, which Deadlines keeps. */
  previous: Call | undefined = undefined;
  next: Call | undefined = undefined;

  /**
   * @param expiresAt time at which the call is rejected, by the clock of the class Deadlines, ms
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
   * @returns the error if the script's `reply` function threw. In this case, the promise is still pending
   */
  resolve(raw: unknown): ReplyDecodeError | undefined {
    if (this.settled) return undefined;
    const { script, wait } = this;
    let result: unknown;
    try {
      result = script.reply((script.replyBytes ? asBytes(raw) : asText(raw)) as never, this.lost);
    } catch (cause) {
      const message = `The script ${script.name} ran, but its result is lost, because its \`reply\` function threw an error. Correct the function. ${thrownText(cause)}`;
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
 * Converts the Buffers in a reply to text. Reuses the arrays of the reply, because copying them and checking each integer, as ioredis does,
 * takes time.
 * See DECISIONS.md: replies-read-as-bytes
 */
function asText(reply: unknown): ScriptReply {
  if (typeof reply === 'number') return reply;
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (!Array.isArray(reply)) return reply as ScriptReply;
  for (let i = 0; i < reply.length; i++) if (typeof reply[i] !== 'number') reply[i] = asText(reply[i]);
  return reply as ScriptReply;
}

/** Converts the texts in a reply to Buffers. Big numbers of RESP3 arrive as text. With node-redis, doubles also arrive as text. */
function asBytes(reply: unknown): unknown {
  if (typeof reply === 'string') return Buffer.from(reply);
  return Array.isArray(reply) ? reply.map(asBytes) : reply;
}

/** The timer for deadlines is set at most this far ahead, ms. If it fires much later than it was set for, this process was too busy. */
const STEP_MS = 10;

/** This process counts as stalled if the timer fires later than expected by more than this, ms. Shorter delays are normal. */
const LATE_MS = 5;

/** Number of past stalls to remember, for calls whose deadline began in the past (`startedAtMs`). More stalls since then are very rare. */
const KEPT_STALLS = 16;

/** A period in which this process was too busy to run its timers. */
interface Stall {
  /** When the stall ended, by `performance.now()`, ms. */
  readonly endedAt: number;
  readonly lastedMs: number;
}

/**
 * Rejects each call at its deadline, with one timer for all calls.
 *
 * A deadline limits how long Redis may take. While this process is stalled (by a long computation, garbage collection or a suspended
 * machine), it writes no call and reads no reply. So the clock of the deadlines stops after about 10 ms of each stall.
 * See DECISIONS.md: deadlines-ignore-own-stalls
 */
export class Deadlines {
  private timer: NodeJS.Timeout | undefined;
  /** Time at which the timer should fire, by `performance.now()`, ms. */
  private ringsAt = Infinity;
  /** No deadline is earlier than this, by the clock of this class, ms. May be too early, because the end of a call does not change it. */
  private nextDue = Infinity;
  /** Total length of all stalls while a call waited for its reply, ms. */
  private stalledMs = 0;
  private readonly stalls: Stall[] = [];
  private holding = false;
  /**
   * Head of a circular linked list of the calls without a result. A Set would keep ended calls in memory for a while.
   * See DECISIONS.md: no-set-on-the-hot-path
   */
  private readonly unsettled: { previous: Call; next: Call };

  /**
   * @param reject rejects a call at its deadline
   * @param checked called after each check of the deadlines; returns false if no call needs a deadline any more
   */
  constructor(
    private readonly reject: (call: Call) => void,
    private readonly checked: (expired: boolean) => boolean,
  ) {
    const head = {} as Call;
    this.unsettled = Object.assign(head, { previous: head, next: head });
  }

  /** Returns the deadline of a call, by the clock of this class, ms. @param since start of the call, by `performance.now()`, ms */
  dueAt(since: number, limitMs: number): number {
    // After a stall, a socket's callback may make a new call before the timer fires. The stall has ended by then, so it must not extend the
    // deadline of this call.
    if (since - this.ringsAt > LATE_MS) {
      this.noteStall(since, since - this.ringsAt);
      this.ringBy(since);
    }
    return since + limitMs - this.stalledMs + this.stalledSince(since);
  }

  /** Rejects the call at its deadline, unless the call has a result by then. */
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

  /** Lets the timer keep the process alive while calls wait. Without a connection, no socket would do that. */
  hold(): void {
    this.holding = true;
    this.timer?.ref();
  }

  /** Rejects all calls that have no result yet. */
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

  /** Returns the total length of the stalls after `since`, ms. @param since a time of `performance.now()`, ms */
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
    // The socket of a call in flight keeps the process alive, so the timer must not. Calling `ref` and `unref` for each call would be slow.
    if (!this.holding) this.timer.unref();
  }

  private ring(): void {
    const rangAt = performance.now();
    const lateMs = rangAt - this.ringsAt;
    if (lateMs > LATE_MS) this.noteStall(rangAt, lateMs);
    const now = rangAt - this.stalledMs;
    // The timer is set first, so that slow work below counts as a stall.
    this.ringBy(rangAt);
    // Replies that have arrived must be read before calls expire. Node runs timers before sockets, and setImmediate after both.
    nextTurn(() => this.expire(now));
  }

  private expire(now: number): void {
    const due = now >= this.nextDue ? this.calls().filter((call) => call.expiresAt <= now) : [];
    // A subscriber of `callFailed` may make a new call during the rejections. So the next deadline is computed after them.
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
