import { Logger } from '@nestjs/common';
import { shown } from '../../../internal/src';
import { TaskTimeoutError, TaskTooLargeError } from '../delayed-task.errors';

/** How often a standing problem of a name is logged again, ms. */
const AGAIN_MS = 3_600_000;
/** How often occupied slots are logged again, ms. */
const OVERTIME_AGAIN_MS = 60_000;
/** Problems that are remembered; what is beyond that is not logged. */
const MOST_PROBLEMS = 1_000;
/** Most lines a second about attempts that are retried. */
const MOST_FAILURES = 10;

/** What a log line says of a task. */
interface LoggedTask {
  readonly name: string;
  readonly id: string;
  readonly attempt: number;
  readonly attempts: number;
}

/**
 * Writes the log lines of a worker. A line names the queue, the task, its id and the class of an error. It never quotes
 * the text of a handler's error, which may hold what the app keeps secret.
 */
export class TaskLog {
  private readonly logger = new Logger('DelayedTask');
  private readonly warnedAt = new Map<string, number>();
  private secondBegan = -Infinity;
  private failures = 0;
  private skipped = 0;

  constructor(private readonly queue: string) {}

  /** Logs that this process has no handler of a name, once an hour for each name. */
  unknown(name: string, longestMs: number): void {
    if (!this.isNews(`unknown ${name}`, AGAIN_MS)) return;
    this.logger.warn(
      `Queue ${this.queue}: this process has no handler for tasks named ${shown(name)}. It hands them back and no attempt ` +
        `is counted. They run when a process has a handler, or are dead letters after ${longestMs} ms.`,
    );
  }

  /** Logs an attempt that failed and is retried; at most ten lines a second, the next one counts those left out. */
  failed(task: LoggedTask, error: unknown, delayMs: number): void {
    const now = performance.now();
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
        `Retried in ${delayMs} ms.${others}`,
    );
  }

  /** Logs that a task is a dead letter. @param error what it died of; a text is the lib's own */
  dead(task: LoggedTask, error: unknown): void {
    const { attempt, attempts } = task;
    this.logger.error(
      `Queue ${this.queue}: ${named(task)} is a dead letter after attempt ${attempt} of ${attempts}: ` +
        `${typeof error === 'string' ? error : kindOf(error)}.`,
    );
  }

  /** Logs that a task is done and its result could not be kept, once an hour for each name. */
  resultLost(task: LoggedTask, error: unknown): void {
    if (!this.isNews(`result ${task.name}`, AGAIN_MS)) return;
    this.logger.warn(
      `Queue ${this.queue}: the result of ${named(task)} was not kept: ${kindOf(error)}. The task is done. ` +
        'Return plain data, or keep no results of such tasks.',
    );
  }

  /** Logs that handlers hold slots beyond their time, once a minute. */
  overtime(tasks: ReadonlySet<LoggedTask>, slots: number): void {
    if (!this.isNews('overtime', OVERTIME_AGAIN_MS)) return;
    const names = new Set([...tasks].map(({ name }) => name));
    const some = [...names].slice(0, 5).map((name) => shown(name));
    this.logger.error(
      `Queue ${this.queue}: ${tasks.size} of ${slots} slots are held by handlers that ran on after their timeoutMs and ` +
        `their signal: ${some.join(', ')}${names.size > 5 ? ' and others' : ''}.`,
    );
  }

  private isNews(what: string, againMs: number): boolean {
    const now = performance.now();
    const last = this.warnedAt.get(what);
    if (last === undefined ? this.warnedAt.size >= MOST_PROBLEMS : now - last < againMs) return false;
    this.warnedAt.set(what, now);
    return true;
  }
}

/** A task by its name and its id; the id whole, or it could not be looked up. */
function named({ name, id }: LoggedTask): string {
  return `task ${shown(name)} (id ${JSON.stringify(id).replaceAll(/[\u2028\u2029]/g, ' ')})`;
}

/** What kind of error it was: its class, and the text of what this lib itself says. */
function kindOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `a thrown ${typeof error}`;
    const kind = shown(error.constructor.name).slice(1, -1);
    const ours = error instanceof TaskTimeoutError || error instanceof TaskTooLargeError;
    return ours ? `${kind}: ${error.message.replace(/\.$/, '')}` : kind;
  } catch {
    return 'an error that cannot be shown';
  }
}
