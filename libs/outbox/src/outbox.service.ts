import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { DelayedTaskService, TaskDefinition } from 'luanest/delayed-task';
import type { StreamConsumerService, StreamDefinition } from 'luanest/stream-consumer';
import { CONSOLE, draining, SetupError, type Page } from '../../internal/src';
import type { ResolvedOutboxOptions } from './outbox.options';
import { Relay } from './outbox.relay';
import { OutboxSender } from './outbox.sender';
import { outboxInput, OutboxTable, type RowState } from './outbox.table';
import type { OutboxMessageOptions, OutboxRow, OutboxStats, OutboxTaskOptions, SqlQuery } from './outbox.types';

/** Transactional outbox: writes tasks and messages into a table in the app's SQL transactions, and sends them to Redis after the commit. */
export class OutboxService implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'OutboxService';

  private readonly table: OutboxTable;
  private readonly sender: OutboxSender;
  private readonly relay: Relay;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly options: ResolvedOutboxOptions,
    tasks?: DelayedTaskService,
    streams?: StreamConsumerService,
  ) {
    if (tasks === undefined && streams === undefined) {
      throw new SetupError(
        'OutboxModule: Neither DelayedTaskModule nor StreamConsumerModule is imported, so nothing could be sent. Import at least one of them in the root module.',
      );
    }
    this.table = new OutboxTable(options.table);
    this.sender = new OutboxSender(tasks, streams);
    this.relay = new Relay(this.table, this.sender, options);
  }

  /**
   * Schedules a task in a transaction of the caller. The task is scheduled if, and only if, the transaction commits.
   *
   * @param query function that runs an SQL statement in that transaction
   * @param task name or definition of the task, as for `DelayedTaskService.schedule`
   * @param options the options of `DelayedTaskService.schedule`, without `operationId`. `delayMs` is counted from this call
   * @returns `id` of the row, and `taskId`, the id that the task will have
   * @throws InvalidInputError, before anything is written; SetupError without DelayedTaskModule; the error of `query`
   *
   * @example
   * ```ts
   * await database.transaction(async (query) => {
   *   await query('INSERT INTO orders (id) VALUES ($1)', [orderId]);
   *   await outbox.schedule(query, 'order.expire', { orderId }, { delayMs: 60_000 });
   * });
   * ```
   */
  schedule<Payload>(
    query: SqlQuery,
    task: TaskDefinition<Payload>,
    payload: NoInfer<Payload>,
    options?: OutboxTaskOptions,
  ): Promise<{ readonly id: string; readonly taskId: string }>;
  schedule(
    query: SqlQuery,
    name: string,
    payload?: unknown,
    options?: OutboxTaskOptions,
  ): Promise<{ readonly id: string; readonly taskId: string }>;
  async schedule(
    query: SqlQuery,
    task: unknown,
    payload?: unknown,
    options: OutboxTaskOptions = {},
  ): Promise<{ readonly id: string; readonly taskId: string }> {
    checkQuery(query);
    const { taskId, ...row } = this.sender.taskRow(task, payload, options);
    await this.table.insert(query, row);
    return { id: row.id, taskId };
  }

  /**
   * Publishes a message in a transaction of the caller. The message is published if, and only if, the transaction commits. Messages of a
   * stream with the same `key` keep their order if each transaction calls `publish` after the transaction before it has committed.
   *
   * @param query function that runs an SQL statement in that transaction
   * @param options `key` and `operationRetentionMs` of the message
   * @returns `id` of the row, which is the `operationId` of the message
   * @throws InvalidInputError and InvalidOptionError, before anything is written; SetupError without StreamConsumerModule; the error of
   *   `query`
   */
  async publish<T = unknown>(
    query: SqlQuery,
    stream: string | StreamDefinition<T>,
    payload: NoInfer<T>,
    options: OutboxMessageOptions = {},
  ): Promise<{ readonly id: string }> {
    checkQuery(query);
    const row = this.sender.messageRow(stream, payload, options);
    await this.table.insert(query, row);
    return { id: row.id };
  }

  /**
   * Sends the waiting rows at once, if this process sends rows (option `relay`). Call `wake` after a commit, so that the new rows do not
   * wait for `pollMs`.
   */
  wake(): void {
    this.relay.wake();
  }

  /**
   * Returns the number of rows in each state. This reads the whole table.
   *
   * @param query function that runs an SQL statement in a transaction of the caller. Default: the call opens its own transaction
   * @throws the errors of the database
   */
  stats(query?: SqlQuery): Promise<OutboxStats> {
    if (query !== undefined) return this.table.stats(query);
    return this.options.database.transaction((own) => this.table.stats(own));
  }

  /**
   * Returns a page of the rows that have a given state, in the order in which they were written.
   *
   * @param options `state`; `limit` of 1 to 1,000, default 100; `cursor`, the `nextCursor` of the page before
   * @throws InvalidInputError; the errors of the database
   */
  list(options: {
    readonly state: RowState;
    readonly limit?: number;
    readonly cursor?: string;
  }): Promise<Page<OutboxRow>> {
    return this.options.database.transaction((query) => this.table.list(query, options));
  }

  /**
   * Sends rows again that were refused or are undecided. An undecided row may have taken effect already, and would then take effect twice.
   * So check its effect first.
   *
   * @param ids ids of rows, from `list`
   * @returns the number of rows that will be sent again. Ids of other rows are ignored
   * @throws InvalidInputError; the errors of the database
   */
  async retry(ids: readonly string[]): Promise<number> {
    const retried = await this.options.database.transaction((query) => this.table.retry(query, ids));
    this.relay.wake();
    return retried;
  }

  /**
   * Deletes rows that were refused or are undecided.
   *
   * @param ids ids of rows, from `list`
   * @returns the number of deleted rows
   * @throws InvalidInputError; the errors of the database
   */
  drop(ids: readonly string[]): Promise<number> {
    return this.options.database.transaction((query) => this.table.drop(query, ids));
  }

  /** Starts to send rows, unless `relay` is false. */
  onApplicationBootstrap(): void {
    if (this.options.relay) this.relay.start();
  }

  /** Stops sending rows. `beforeApplicationShutdown` waits for the rows that are being sent. */
  onModuleDestroy(): void {
    this.closing ??= draining(this.relay.close());
  }

  /** Waits for the rows that are being sent, at most `drainMs`. */
  beforeApplicationShutdown(): Promise<void> | undefined {
    this.onModuleDestroy();
    return this.closing;
  }
}

function checkQuery(query: unknown): void {
  outboxInput.fn('query', query, 'that runs a statement in the transaction');
}
