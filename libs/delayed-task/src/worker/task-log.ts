import { Logger } from '@nestjs/common';
import { InvalidOutcomeError, oneLine, shown, thrownKind, time, TimeoutError } from '../../../internal/src';
import { TaskTooLargeError } from '../delayed-task.errors';

/** Pause before the same problem with tasks of the same name is logged again, ms. */
const AGAIN_MS = 3_600_000;
/** Pause before the next line about handlers that run on after their timeout, ms. */
const OVERTIME_AGAIN_MS = 60_000;
/** Most problems that are remembered. Further problems are not logged. */
const MOST_PROBLEMS = 1_000;
/** Most lines in a second about attempts that are retried. */
const MOST_FAILURES = 10;

interface LoggedTask {
  readonly name: string;
  readonly id: string;
  readonly attempt: number;
  readonly attempts: number;
}

/**
 * Writes the log lines of a worker. A line shows the class of what a handler threw, but not its text, which may hold what the app
 * keeps secret. Only texts of some errors of this lib are shown.
 */
export class TaskLog {
  private readonly logger = new Logger('DelayedTask');
  private readonly warnedAt = new Map<string, number>();
  private secondBegan = -Infinity;
  private failures = 0;
  private skipped = 0;

  constructor(private readonly queue: string) {}

  /** Logs that this process has no handler for a name, at most once an hour for each name. */
  unknown(name: string, longestMs: number): void {
    if (!this.isNews(`unknown ${name}`, AGAIN_MS)) return;
    this.logger.warn(
      `Queue ${this.queue}: this process has no handler for tasks named ${shown(name)}. It hands them back for other ` +
        `processes, and the attempts do not count. A task that is handed back for unknownTaskMs (${longestMs} ms) is dead-lettered.`,
    );
  }

  /** Logs a failed attempt that is retried; at most ten lines in a second. The next line has the number of lines left out. */
  failed(task: LoggedTask, error: unknown, delayMs: number): void {
    const now = time.monotonicMs();
    if (now - this.secondBegan >= 1_000) [this.secondBegan, this.failures] = [now, 0];
    if (this.failures >= MOST_FAILURES) {
      this.skipped += 1;
      return;
    }
    const others = this.skipped > 0 ? ` ${this.skipped} other failed attempts were not logged.` : '';
    this.failures += 1;
    this.skipped = 0;
    const { attempt, attempts } = task;
    this.logger.warn(
      `Queue ${this.queue}: ${named(task)} failed at attempt ${attempt} of ${attempts}: ${kindOf(error)}. ` +
        `The next attempt is due in ${delayMs} ms.${others}`,
    );
  }

  /** Logs that a task without a handler is a dead letter. The attempt that was handed back does not count, so it is not shown. */
  deadUnknown(task: LoggedTask, longestMs: number): void {
    this.logger.error(
      `Queue ${this.queue}: ${named(task)} is a dead letter: workers without a handler for its name handed it back for unknownTaskMs (${longestMs} ms).`,
    );
  }

  /** Logs that a task is a dead letter after an attempt. @param why text of this lib, or `{ error }` with the last error */
  dead(task: LoggedTask, why: string | { readonly error: unknown }): void {
    const { attempt, attempts } = task;
    const reason = typeof why === 'string' ? why : kindOf(why.error);
    this.logger.error(
      `Queue ${this.queue}: ${named(task)} is a dead letter after attempt ${attempt} of ${attempts}: ${reason}.`,
    );
  }

  /** Logs that the result of a task cannot be kept, at most once an hour for each name. */
  resultLost(task: LoggedTask, error: unknown): void {
    if (!this.isNews(`result ${task.name}`, AGAIN_MS)) return;
    this.logger.warn(
      `Queue ${this.queue}: the result of ${named(task)} was not kept: ${kindOf(error)}. The task counts as done. ` +
        'Return plain data of at most maxPayloadBytes, or set keepResultMs to 0 for such tasks.',
    );
  }

  /** Logs that handlers run on after their timeout and keep their slots, at most once a minute. */
  overtime(tasks: ReadonlySet<LoggedTask>, slots: number): void {
    if (!this.isNews('overtime', OVERTIME_AGAIN_MS)) return;
    const names = new Set([...tasks].map(({ name }) => name));
    const some = [...names].slice(0, 5).map((name) => shown(name));
    this.logger.error(
      `Queue ${this.queue}: ${tasks.size} of ${slots} slots are held by handlers that still run after their timeoutMs and ` +
        `abortGraceMs: ${some.join(', ')}${names.size > 5 ? ' and others' : ''}.`,
    );
  }

  /** Returns true if a problem must be logged: it is one of the first 1,000, and was not logged in the last `againMs`. */
  private isNews(problem: string, againMs: number): boolean {
    const now = time.monotonicMs();
    const last = this.warnedAt.get(problem);
    if (last === undefined ? this.warnedAt.size >= MOST_PROBLEMS : now - last < againMs) return false;
    this.warnedAt.set(problem, now);
    return true;
  }
}

/** Returns a task's name and id for a log line. The id is not shortened, because people search for it. */
function named({ name, id }: LoggedTask): string {
  return `task ${shown(name)} (id ${oneLine(JSON.stringify(id))})`;
}

/** Returns the kind of a thrown value, and for some errors of this lib also the text, which quotes no payload. */
function kindOf(error: unknown): string {
  const kind = thrownKind(error);
  try {
    const ours = [TimeoutError, TaskTooLargeError, InvalidOutcomeError].some((type) => error instanceof type);
    return ours ? `${kind}: ${(error as Error).message.replace(/\.$/, '')}` : kind;
  } catch {
    // A revoked Proxy throws at any access.
    return kind;
  }
}
