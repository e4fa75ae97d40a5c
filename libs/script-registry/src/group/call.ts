import type { AnyScript, ScriptReply } from '../define-script';
import type { CommandArg } from '../connection/port';
import { ReplyDecodeError } from '../script-registry.errors';
import { thrownText } from '../../../internal/src';

/** Replicas to wait for after a script ran, and for how long. */
export interface Wait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

const NONE: readonly string[] = Object.freeze([]);

/** A call on its way: what it sends, when it must be answered, and whom to tell. */
export class Call {
  /** Keys as they go on the wire. */
  keys: readonly string[] = NONE;
  /** Arguments as they go on the wire. */
  args: readonly CommandArg[] = NONE;
  /** Characters and bytes of keys and arguments together. */
  chars = 0;
  /** Replicas that had the write when WAIT ended; 0 for calls that wait for none. */
  replicas = 0;
  /** True while a command with this call is out, from its sending to its answer. */
  out = false;
  /** True once a command with this call was written and never answered. It stays so: no later answer takes it back. */
  lost = false;
  /** True once the caller was told; a later answer is dropped. */
  settled = false;

  /**
   * @param expiresAt by the clock of Deadlines, ms
   * @param wait undefined for calls that wait for no replica
   */
  constructor(
    readonly script: AnyScript,
    readonly expiresAt: number,
    readonly wait: Wait | undefined,
    private readonly tell: (result: never) => void,
    private readonly fail: (error: Error) => void,
  ) {}

  /** True when the script may have run for this call, or may still run. */
  get mayHaveRun(): boolean {
    return this.out || this.lost;
  }

  /** Decodes the reply and tells the caller, unless it was told already. Answers why it could not. */
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
    this.tell((this.wait ? { result, replicas: this.replicas } : result) as never);
    return undefined;
  }

  /** Tells the caller of a failure; answers whether that was news. */
  reject(error: Error): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.fail(error);
    return true;
  }
}
