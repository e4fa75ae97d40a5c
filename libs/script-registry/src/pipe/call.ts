import type { ScriptDefinition, ScriptReply } from '../script-definition';
import type { CommandArg, CommandFailure, Receiver, RedisNode } from '../connection/port';
import { ReplyDecodeError } from '../script-registry.errors';
import { thrownText } from '../../../internal/src';

/** Parameters of WAIT, which follows the script of a `runAndWait` call. */
export interface Wait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** Who sent a call alone, and goes on when its command has ended. */
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
  /** Who sent it alone, and to which node. */
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
      result = script.reply((script.replyBytes ? raw : asText(raw)) as never, this.lost);
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
