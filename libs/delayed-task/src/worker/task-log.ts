import { Logger } from '@nestjs/common';
import { shown } from 'luanest/script-registry';

/** How often a standing problem is logged again, ms. */
const AGAIN_MS = 3_600_000;
/** Names whose warnings are remembered; what is beyond that is not logged. */
const MOST_NAMES = 1_000;

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

  constructor(private readonly queue: string) {}

  /** This process has no handler of a name; logged once an hour for each name. */
  unknown(name: string, longestMs: number): void {
    if (!this.isNews(`unknown ${name}`)) return;
    this.logger.warn(
      `Queue ${this.queue}: this process has no handler for tasks named ${shown(name)}. It hands them back and no attempt ` +
        `is counted. They run when a process has a handler, or are dead letters after ${longestMs} ms.`,
    );
  }

  /** A task is a dead letter. */
  dead({ name, id, attempt, attempts }: LoggedTask, error: unknown): void {
    this.logger.error(
      `Queue ${this.queue}: task ${shown(name)} (id ${quoted(id)}) is a dead letter after attempt ${attempt} of ${attempts}: ${kindOf(error)}.`,
    );
  }

  private isNews(what: string): boolean {
    const now = performance.now();
    const last = this.warnedAt.get(what);
    if (last === undefined ? this.warnedAt.size >= MOST_NAMES : now - last < AGAIN_MS) return false;
    this.warnedAt.set(what, now);
    return true;
  }
}

/** An id as it is: one that were cut short could not be looked up. */
function quoted(id: string): string {
  return JSON.stringify(id).replaceAll(/[\u2028\u2029]/g, ' ');
}

/** What kind of error it was, in a word. */
function kindOf(error: unknown): string {
  try {
    return error instanceof Error ? shown(error.constructor.name).slice(1, -1) : `a thrown ${typeof error}`;
  } catch {
    return 'an error that cannot be shown';
  }
}
