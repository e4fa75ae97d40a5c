import type { AnyScript, ScriptReply } from '../script-definition';
import type { CommandArg } from '../connection/port';
import { ReplyDecodeError } from '../script-registry.errors';
import { thrownText } from '../../../internal/src';

/** Parameters of WAIT, which follows the script of a `runAndWait` call. */
export interface Wait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

const NONE: readonly string[] = Object.freeze([]);

/** One call of a script: its encoded parameters, its deadline, and the promise of its caller. */
export class Call {
  keys: readonly string[] = NONE;
  args: readonly CommandArg[] = NONE;
  /** Length of all keys and arguments together: characters of text, bytes of Buffers. */
  chars = 0;
  /** Number of replicas that had the write when WAIT ended; 0 without WAIT, or if WAIT failed. */
  replicas = 0;
  /** True from the sending of a command with this call until that command fails. */
  inFlight = false;
  /** True if a command with this call failed and may have run. Stays true, even if a later command gets a reply. */
  lost = false;
  /** True once the caller has a result or an error. Later replies are ignored. */
  settled = false;

  /**
   * @param expiresAt when the call is rejected, by the clock of Deadlines, ms
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

  /**
   * Resolves the caller's promise with the decoded reply. Does nothing if the caller has a result or an error already.
   *
   * @returns the error if the script's `reply` function threw; then the promise is still pending
   */
  resolve(reply: ScriptReply, atUs: number): ReplyDecodeError | undefined {
    if (this.settled) return undefined;
    let result: unknown;
    try {
      result = this.script.reply(reply as never, atUs);
    } catch (cause) {
      const message = `${this.script.name} ran, but its \`reply\` function threw, so the result is lost: ${thrownText(cause)}`;
      return new ReplyDecodeError(message, { cause });
    }
    this.settled = true;
    this.succeed((this.wait ? { result, replicas: this.replicas } : result) as never);
    return undefined;
  }

  /** Rejects the caller's promise. @returns false if the caller had a result or an error already */
  reject(error: Error): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.fail(error);
    return true;
  }
}
