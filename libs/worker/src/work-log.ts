import { Logger } from '@nestjs/common';
import { thrownKind, thrownText, time } from '../../internal/src';
import { hasCode } from './failure';

/** Maximum number of log lines per second about failed attempts that will be retried. */
const MOST_FAILURES = 10;
/** Shortest time between two log lines about failed calls to Redis, ms. */
const CALL_AGAIN_MS = 30_000;
/** Purposes of calls to Redis in words, by the value `during` of the events `callFailed`. */
const PURPOSES: Readonly<Record<string, string>> = {
  take: 'to get work',
  settle: 'to store outcomes',
  renew: 'to renew leases',
  sweep: 'to look for lost work',
  watch: 'to check the consumer group',
  subscribe: 'to wait for new work',
  pause: 'to read if the queue is paused',
};

/**
 * Maximum number of different problems that this class remembers, so that it does not log them too often. Further problems are not logged.
 */
const MOST_PROBLEMS = 1_000;

export interface LoggedAttempt {
  /** Name of the task or message for the log line, such as `task "mail" (id "a")` or `message 0:1-0`. */
  readonly named: string;
  readonly attempt: number;
  readonly attempts: number;
}

/**
 * Writes the log lines of a worker. For an error of the app, a line has only the class of the error, because the message may contain
 * secrets. The messages of some errors of luanest are logged.
 */
export class WorkLog {
  protected readonly logger: Logger;
  private readonly warnedAt = new Map<string, number>();
  private secondBegan = -Infinity;
  private failures = 0;
  private skipped = 0;

  /**
   * @param lib context of the Nest logger, such as `DelayedTask`
   * @param where first words of each line, such as `Queue mails`
   * @param own error codes whose messages may be logged, because they never contain a payload
   */
  constructor(
    lib: string,
    protected readonly where: string,
    private readonly own: readonly string[] = [],
  ) {
    this.logger = new Logger(lib);
  }

  /**
   * Logs a failed attempt that will be retried. Logs at most ten lines per second; the next line then reports how many failures were not
   * logged.
   */
  failed({ named, attempt, attempts }: LoggedAttempt, error: unknown, delayMs: number): void {
    const now = time.monotonicMs();
    if (now - this.secondBegan >= 1_000) [this.secondBegan, this.failures] = [now, 0];
    if (this.failures >= MOST_FAILURES) {
      this.skipped += 1;
      return;
    }
    const others = this.skipped > 0 ? ` ${this.skipped} other failed attempts were not logged.` : '';
    this.failures += 1;
    this.skipped = 0;
    this.logger.warn(
      `${this.where}: ${named} failed at attempt ${attempt} of ${attempts}: ${this.kindOf(error)}. ` +
        `The next attempt is due in ${delayMs} ms.${others}`,
    );
  }

  /**
   * Logs that a task or message is a dead letter.
   *
   * @param why the reason as a text, or `{ error }` with the last error
   * @param unless phrase to add if luanest cannot be sure that a dead letter was stored, such as `, unless it was deleted,`
   */
  dead({ named, attempt, attempts }: LoggedAttempt, why: string | { readonly error: unknown }, unless = ''): void {
    const reason = typeof why === 'string' ? why : this.kindOf(why.error);
    this.logger.error(
      `${this.where}: ${named} is a dead letter${unless} after attempt ${attempt} of ${attempts}: ${reason}. It runs again only if ` +
        'you replay the dead letter.',
    );
  }

  /**
   * Logs that handlers still run after their timeout and keep their slots.
   *
   * @param labels names of the tasks or messages of these handlers
   * @param slots number of slots of the worker
   */
  overtime(labels: readonly string[], slots: number): void {
    const names = [...new Set(labels)];
    this.logger.error(
      `${this.where}: ${labels.length} of ${slots} handlers that may run at once (concurrency) still run after their timeoutMs ` +
        `and abortGraceMs, so fewer others can run: ${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and others' : ''}. ` +
        'Let these handlers stop when their signal is aborted, or raise timeoutMs.',
    );
  }

  /** Logs that a call to Redis failed, at most once in 30 s. @param during purpose of the call, such as `renew` */
  callFailed(during: string, error: unknown): void {
    if (!this.isNews('call', CALL_AGAIN_MS)) return;
    this.logger.warn(
      `${this.where}: A call to Redis (${PURPOSES[during] ?? during}) failed, so work may be late. The call is repeated until it succeeds, this process ` +
        `stops or another process takes over. ${thrownText(error)}`,
    );
  }

  /**
   * Returns true if a problem should be logged now, because it was not logged during the last `againMs` milliseconds. Only the first 1,000
   * different problems are logged.
   */
  protected isNews(problem: string, againMs: number): boolean {
    const now = time.monotonicMs();
    const last = this.warnedAt.get(problem);
    if (last === undefined ? this.warnedAt.size >= MOST_PROBLEMS : now - last < againMs) return false;
    this.warnedAt.set(problem, now);
    return true;
  }

  /**
   * Returns the class of a thrown value for the log. For some errors of luanest also returns the message, which never contains a payload.
   */
  protected kindOf(error: unknown): string {
    const kind = thrownKind(error);
    if (!hasCode(error, ['TIMEOUT', 'INVALID_OUTCOME', ...this.own])) return kind;
    return `${kind}: ${(error as Error).message.replace(/\.$/, '')}`;
  }
}
