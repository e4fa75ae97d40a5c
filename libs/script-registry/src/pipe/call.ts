import { nextTurn, thrownText } from '../../../internal/src';
import type { CommandArg, CommandFailure, Receiver, RedisNode } from '../connection/port';
import type { ScriptDefinition, ScriptReply } from '../script-definition';
import { ReplyDecodeError } from '../script-registry.errors';

/** Parameters of the command WAIT, which is sent after the script of a `runAndWait` call. */
export interface Wait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** Object that sent a call alone. It is called when the command of the call has ended. */
export interface CallSender {
  /** @param problem the error if the reply could not be decoded. In this case, the sender must reject the call */
  replied(call: Call, problem: Error | undefined): void;
  failed(call: Call, failure: CommandFailure): void;
}

const NO_WORDS: CommandArg[] = [];

/** Index of the first key in `words`. */
export const FIRST_KEY = 2;

/** One call of a script: its encoded parameters, its deadline, and the promise of its caller. */
export class Call implements Receiver {
  /** Arguments of the EVALSHA for this call: SHA1 hash, number of keys, keys, arguments. */
  words: CommandArg[] = NO_WORDS;
  keyCount = 0;
  /** Sum of the lengths of all keys and arguments. The length of a text is in characters, that of a Buffer in bytes. */
  chars = 0;
  /** Number of replicas that had the writes of the call when WAIT ended. 0 if there was no WAIT, or if WAIT failed. */
  replicas = 0;
  /** True after a command with this call was sent. False again if the command fails. */
  inFlight = false;
  /**
   * True if a command with this call may have run, and its reply was lost: the command failed, or the client wrote it again. Stays true,
   * even if a later command gets a reply.
   */
  lost = false;
  /** True once the caller has a result or an error. Later replies are ignored. */
  settled = false;
  /** Sender and node of a call that was sent alone. */
  sender: CallSender | undefined = undefined;
  node: RedisNode | undefined = undefined;
  /** Publishes the event `groupEnded`. Undefined if the events of groups had no subscriber when the call was sent. */
  observed: (() => void) | undefined = undefined;
  /** Previous call in the linked list of calls that are not settled (see Deadlines). `next` is the next call. */
  previous: Call | undefined = undefined;
  next: Call | undefined = undefined;

  /**
   * @param expiresAt deadline of the call, by the clock of Deadlines, ms
   * @param wait undefined for calls without WAIT
   */
  constructor(
    readonly script: ScriptDefinition,
    readonly expiresAt: number,
    readonly wait: Wait | undefined,
    private readonly succeed: (result: never) => void,
    private readonly fail: (error: Error) => void,
  ) {}

  /** True if the script may have run for this call, or may run later. */
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

/** Converts texts of a reply to Buffers. Clients return RESP3's big numbers as text; node-redis also returns doubles as text. */
function asBytes(reply: unknown): unknown {
  if (typeof reply === 'string') return Buffer.from(reply);
  return Array.isArray(reply) ? reply.map(asBytes) : reply;
}

/** Longest delay of the timer for deadlines, ms. If the timer fires much later than it should, this process was stalled. */
const STEP_MS = 10;

/** If the timer fires later than it should by more than this, ms, the process was stalled. Shorter delays are normal. */
const LATE_MS = 5;

/**
 * Number of past stalls that are kept. They are needed for calls whose `startedAtMs` is in the past. There is seldom more than one stall
 * since such a time.
 */
const KEPT_STALLS = 16;

/** A period in which this process was too busy to run its timers. */
interface Stall {
  /** When the stall ended, by `performance.now()`, ms. */
  readonly endedAt: number;
  readonly lastedMs: number;
}

/**
 * Deadlines of all calls. All calls share one timer, and a clock that stops while this process is stalled.
 *
 * Deadlines limit how long Redis may take. During a stall (such as a long computation, garbage collection or a suspended machine), this
 * process writes no call and reads no reply. So only about the first 10 ms of each stall count.
 * See DECISIONS.md: deadlines-ignore-own-stalls
 */
export class Deadlines {
  private timer: NodeJS.Timeout | undefined;
  /** When the timer fires, by `performance.now()`, ms. */
  private ringsAt = Infinity;
  /** The earliest deadline of all calls, or an earlier time, by the clock of this class, ms. */
  private nextDue = Infinity;
  /** Total length of all stalls while calls waited, ms. */
  private stalledMs = 0;
  /** The latest stalls, oldest first. */
  private readonly stalls: Stall[] = [];
  private holding = false;
  /**
   * Head of a circular linked list of the calls that are not settled. A Set would keep ended calls in memory for a while, see
   * DECISIONS.md: no-set-on-the-hot-path
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

  /** Returns the deadline of a call, by the clock of this class, ms. @param since start of the call, by `performance.now()`, ms */
  dueAt(since: number, limitMs: number): number {
    // After a stall, code that handles a socket may run, and make a call, before the timer fires. The stall has ended, so it must not
    // extend the deadline of this new call.
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

  /**
   * Makes the timer keep the process alive until no call waits or is in flight. Without a connection, there is no socket that keeps the
   * process alive.
   */
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
    // A call in flight has a socket, which keeps the process alive, so the timer need not. Calling `ref` and `unref` for every call would
    // be slow.
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
    // `reject` may run a subscriber of `callFailed` that makes a new call. So the next deadline is computed after all rejections.
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
