import type { AnyScript, ScriptReply } from '../define-script';
import type { CommandArg } from '../connection/port';
import { ReplyDecodeError } from '../script-registry.errors';
import { thrownText } from '../../../internal/src';

/** How many replicas to wait for after a script ran, and how long. */
export interface Wait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

const NONE: readonly string[] = Object.freeze([]);

/** One call of a script: its encoded parameters, its deadline, and the promise of its caller. */
export class Call {
  /** Encoded keys. */
  keys: readonly string[] = NONE;
  /** Encoded arguments. */
  args: readonly CommandArg[] = NONE;
  /** Characters and bytes of all keys and arguments. */
  chars = 0;
  /** Number of replicas that had the write when WAIT ended; 0 for calls without WAIT. */
  replicas = 0;
  /** True while a command with this call is in flight. */
  inFlight = false;
  /** True once a command with this call was written without getting a reply. It stays true, whatever replies come later. */
  lost = false;
  /** True once the caller has a result or an error. Later replies are ignored. */
  settled = false;

  /**
   * @param expiresAt by the clock of Deadlines, ms
   * @param wait undefined for calls without WAIT
   */
  constructor(
    readonly script: AnyScript,
    readonly expiresAt: number,
    readonly wait: Wait | undefined,
    private readonly succeed: (result: never) => void,
    private readonly fail: (error: Error) => void,
  ) {}

  /** True if the script may have run for this call, or may still run. */
  get mayHaveRun(): boolean {
    return this.inFlight || this.lost;
  }

  /** Resolves the caller's promise with the decoded reply, unless it is settled. @returns the error if `reply` threw */
  resolve(reply: ScriptReply, atUs: number): ReplyDecodeError | undefined {
    if (this.settled) return undefined;
    let result: unknown;
    try {
      result = this.script.reply(reply as never, atUs);
    } catch (cause) {
      const message = `${this.script.name} ran, but its reply function failed: ${thrownText(cause)}`;
      return new ReplyDecodeError(message, { cause });
    }
    this.settled = true;
    this.succeed((this.wait ? { result, replicas: this.replicas } : result) as never);
    return undefined;
  }

  /** Rejects the caller's promise. @returns false if it was settled already */
  reject(error: Error): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.fail(error);
    return true;
  }
}
