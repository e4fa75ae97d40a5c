import { Logger } from '@nestjs/common';
import { endsWithin, LuanestError, messageOf, oneLine, SetupError, thrownText, time } from '../../internal/src';
import { events } from './outbox.events';
import type { ResolvedOutboxOptions } from './outbox.options';
import type { OutboxSender, SendResult } from './outbox.sender';
import { type MarkedRow, type Outcomes, type OutboxTable, UNDECIDED } from './outbox.table';
import type { SqlQuery } from './outbox.types';

/**
 * First and longest pause after a failed call to Redis, ms. Each target of rows, such as a stream or a task name in a queue, has its own
 * pause.
 */
const PAUSES_MS = [100, 5_000] as const;
/** Longest pause after a failed call to the database, ms. */
const LONGEST_REST_MS = 30_000;
/** After this time, ms, a round (read rows, send and delete them) sends no further row, so that its database transactions stay short. */
const ROUND_MS = 5_000;
/** Longest time to wait for a second connection to the database, ms. The first connection holds the lock of the table meanwhile. */
const CONNECTION_MS = 10_000;
/** The same kind of failure is logged again after this time at the earliest, ms. */
const LOG_AGAIN_MS = 60_000;
const MAX_ERROR_CHARS = 1_000;

/**
 * Sends the rows of the outbox table to Redis, in rounds. A round reads up to `batch` rows, sends them, and deletes those that were sent.
 * See DECISIONS.md: mark-send-delete
 */
export class Relay {
  private readonly logger = new Logger('Outbox');
  /**
   * Targets whose last call failed, as `kind:target`, such as `message:orders`. `untilMs` is the end of the pause by `time.monotonicMs()`.
   * The rows of a target are not read during its pause.
   */
  private readonly paused = new Map<string, { readonly untilMs: number; readonly pauseMs: number }>();
  private readonly loggedAt = new Map<string, number>();
  private running: Promise<void> | undefined;
  private closing = false;
  private stopped = false;
  private woken = false;
  private endRest: (() => void) | undefined;

  constructor(
    private readonly table: OutboxTable,
    private readonly sender: OutboxSender,
    private readonly options: ResolvedOutboxOptions,
  ) {}

  start(): void {
    if (!this.closing) this.running ??= this.run();
  }

  /** Starts the next round at once, or right after the current one. */
  wake(): void {
    this.woken = true;
    this.endRest?.();
  }

  /** Ends the loop, and waits for the current round, at most `drainMs`. No row is sent after that. */
  async close(): Promise<void> {
    this.closing = true;
    this.wake();
    if (this.running) await endsWithin(this.options.drainMs, this.running);
    this.stopped = true;
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.closing) {
      this.woken = false;
      let restMs = this.options.pollMs;
      try {
        if (await this.round()) restMs = 0;
        failures = 0;
      } catch (error) {
        restMs = Math.min(this.options.pollMs * 2 ** ++failures, LONGEST_REST_MS);
        if (!this.closing)
          this.failed(
            'round',
            error,
            'Reading or writing the outbox table failed, so its rows wait. This is tried again',
          );
      }
      if (restMs > 0) await this.rest(restMs);
    }
  }

  /** Reads and sends the next rows. @returns true if the table may have more rows to send */
  private async round(): Promise<boolean> {
    const now = time.monotonicMs();
    const paused = [...this.paused].filter(([, { untilMs }]) => untilMs > now).map(([target]) => target);
    let more = false;
    await this.locked(paused, async () => {
      // The time of sending is committed before the first call to Redis. So after a crash, it is known that these rows may have been sent.
      // See DECISIONS.md: mark-send-delete
      const { rows, mark } = await this.second((query) => this.table.mark(query, paused, this.options.batch));
      const outcomes = await this.send(rows, time.monotonicMs());
      if (this.stopped) return;
      await this.second((query) => this.table.settle(query, outcomes, mark));
      this.report(outcomes);
      more = rows.length === this.options.batch;
    });
    return more;
  }

  /**
   * Takes the lock of the table in one transaction, and runs `work` while that transaction is open. `work` does
   * not run if another process has the lock, or if no row waits. `work` is called outside the callback of the transaction. Inside, some
   * database libraries would run its statements in the same transaction, and so not commit them before the rows are sent.
   * See DECISIONS.md: lock-transaction-is-separate
   */
  private async locked(paused: readonly string[], work: () => Promise<void>): Promise<void> {
    let release!: () => void;
    let decided!: (locked: boolean) => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const decision = new Promise<boolean>((resolve) => (decided = resolve));
    const holder = this.options.database.transaction(async (query) => {
      const locked = await this.table.lock(query, paused);
      decided(locked);
      if (locked) await released;
    });
    holder.then(
      () => decided(false),
      () => decided(false),
    );
    try {
      if (await decision) await work();
    } finally {
      release();
      await holder;
    }
  }

  /**
   * Runs `work` in a second transaction, while the first one holds the lock.
   *
   * @throws SetupError if the pool gives no second connection in time
   */
  private second<T>(work: (query: SqlQuery) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let state: 'waiting' | 'begun' | 'late' = 'waiting';
      const timer = time.setTimeLimit(() => {
        if (state !== 'waiting') return;
        state = 'late';
        reject(
          new SetupError(
            `OutboxModule: The option database gave no second connection within ${CONNECTION_MS} ms, so rows wait. The relay needs two ` +
              'connections at once. Raise the size of the connection pool.',
          ),
        );
      }, CONNECTION_MS);
      const begin = async (query: SqlQuery): Promise<T> => {
        if (state === 'late')
          throw new SetupError(
            'OutboxModule: `database` opened its second connection only after the time limit, so the relay does not use it. The relay tries again.',
          );
        state = 'begun';
        await this.table.limit(query);
        return work(query);
      };
      this.options.database
        .transaction(begin)
        .then(resolve, reject)
        .finally(() => time.clearTimer(timer));
    });
  }

  /** Sends rows to Redis. Rows that must keep their order are sent one after the other, all others at the same time. */
  private async send(rows: readonly MarkedRow[], readAtMs: number): Promise<Outcomes> {
    const outcomes: Outcomes = { sent: [], failed: [], unsent: [] };
    const lanes = new Map<string, MarkedRow[]>();
    for (const row of rows) {
      const name = this.sender.laneOf(row);
      const lane = lanes.get(name);
      if (lane) lane.push(row);
      else lanes.set(name, [row]);
    }
    await Promise.all([...lanes.values()].map((lane) => this.sendLane(lane, readAtMs, outcomes)));
    return outcomes;
  }

  private async sendLane(lane: readonly MarkedRow[], readAtMs: number, outcomes: Outcomes): Promise<void> {
    let blocked = false;
    for (const row of lane) {
      const sinceMs = time.monotonicMs() - readAtMs;
      if (row.sentMs !== undefined && row.sentMs + sinceMs > this.sender.repeatableMs(row)) {
        outcomes.failed.push({
          row,
          error: `${UNDECIDED} the row was sent before, and Redis may have forgotten if it had an effect. Check this before you retry it`,
        });
        this.setAside(row, undefined);
        continue;
      }
      if (blocked || this.stopped || sinceMs > ROUND_MS) {
        if (row.sentMs === undefined) outcomes.unsent.push(row);
        continue;
      }
      const result = await this.sender.send(row, sinceMs);
      this.pauseOrResume(row, result);
      if (result.status === 'sent') outcomes.sent.push(row);
      else if (result.status === 'refused') {
        outcomes.failed.push({ row, error: errorText(result.error) });
        this.setAside(row, result.error);
      } else {
        blocked = true;
        if (!result.effect && row.sentMs === undefined) outcomes.unsent.push(row);
      }
    }
  }

  private pauseOrResume({ kind, target }: MarkedRow, result: SendResult): void {
    const name = `${kind}:${target}`;
    if (result.status === 'sent') this.paused.delete(name);
    if (result.status !== 'kept') return;
    const last = this.paused.get(name);
    const now = time.monotonicMs();
    // Several rows of one target may fail at the same time. Only the first failure makes the pause longer.
    if (last === undefined || last.untilMs <= now) {
      const pauseMs = last === undefined ? PAUSES_MS[0] : Math.min(2 * last.pauseMs, PAUSES_MS[1]);
      this.paused.set(name, { untilMs: now + pauseMs, pauseMs });
    }
    this.failed(
      'send',
      result.error,
      `A row (${kind} ${target}) could not be sent, so all rows with the same ${kind} target wait. They are sent again`,
    );
  }

  private report({ sent }: Outcomes): void {
    if (sent.length === 0) return;
    events.rowsSent.publish(() => {
      const tasks = sent.filter(({ kind }) => kind === 'task').length;
      const lagMs = sent.reduce((most, { ageMs }) => Math.max(most, ageMs), 0);
      return { table: this.options.table, tasks, messages: sent.length - tasks, lagMs };
    });
  }

  private setAside({ id, kind, target }: MarkedRow, error: unknown): void {
    const { table } = this.options;
    const undecided = error === undefined;
    events.rowFailed.publish(() => ({ table, id, kind, target, undecided, ...(!undecided && { error }) }));
    const key = undecided ? 'undecided' : 'refused';
    if (!this.isNews(key)) return;
    const why = undecided ? 'it is unknown whether it had an effect' : `it was refused: ${codeOf(error)}`;
    this.logger.error(
      `Table ${table}: Row ${id} (${kind} ${oneLine(target)}) is not sent again, because ${why}. OutboxService.list({ state: ` +
        `'${undecided ? 'undecided' : 'failed'}' }) shows such rows: retry() or drop() them. Logged at most once a minute.`,
    );
  }

  private failed(during: 'send' | 'round', error: unknown, what: string): void {
    const { table } = this.options;
    events.callFailed.publish(() => ({ table, during, error }));
    if (this.isNews(during)) this.logger.warn(`Table ${table}: ${oneLine(what)}. ${oneLine(thrownText(error))}`);
  }

  private isNews(kind: string): boolean {
    const now = time.monotonicMs();
    if (now - (this.loggedAt.get(kind) ?? -Infinity) < LOG_AGAIN_MS) return false;
    this.loggedAt.set(kind, now);
    return true;
  }

  private async rest(ms: number): Promise<void> {
    if (this.woken) return;
    await new Promise<void>((resolve) => {
      const timer = time.setTimer(resolve, ms);
      timer.unref();
      this.endRest = () => {
        time.clearTimer(timer);
        resolve();
      };
    });
    this.endRest = undefined;
  }
}

function codeOf(error: unknown): string {
  return error instanceof LuanestError ? error.code : 'its payload or options are not JSON';
}

/** Returns the text of an error for the column `error`, without NUL and unpaired surrogates, which PostgreSQL cannot store. */
function errorText(error: unknown): string {
  return oneLine(`${codeOf(error)}: ${messageOf(error)}`)
    .slice(0, MAX_ERROR_CHARS)
    .toWellFormed();
}
