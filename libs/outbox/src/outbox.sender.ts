import type { DelayedTaskService } from 'luanest/delayed-task';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { randomUUID } from 'node:crypto';
import { LuanestError, OUTBOX, SetupError } from '../../internal/src';
import { outboxInput, type MarkedRow, type NewRow } from './outbox.table';
import type { OutboxMessageOptions, OutboxTaskOptions } from './outbox.types';

const DAY_MS = 86_400_000;
/** Error codes which show that sending the same row again would fail again. */
const REFUSED = ['INVALID_INPUT', 'INVALID_OPTION', 'INVALID_CALL', 'INVALID_KEY', 'CROSS_SLOT', 'TASK_TOO_LARGE'];
/** Error codes which prove that a call had no effect. */
const NO_EFFECT = ['NOT_SENT', 'SCRIPT_REFUSED', 'CLOSED', 'SETUP', 'SCRIPT_NOT_REGISTERED'];

type Task = Parameters<DelayedTaskService['schedule']>[0];
type AnyStream = Parameters<StreamConsumerService['publish']>[0];

interface Stored {
  readonly retainMs: number;
  /** Options of the task, including its id. */
  readonly task?: OutboxTaskOptions & { readonly id: string; readonly queue: string };
  readonly message?: { readonly key?: string };
  readonly stream?: object;
}

/**
 * Result of sending a row. `kept`: the row stays in the table, and is sent again later; `effect` is false if the call certainly had no
 * effect.
 */
export type SendResult =
  | { readonly status: 'sent' }
  | { readonly status: 'refused'; readonly error: unknown }
  | { readonly status: 'kept'; readonly error: unknown; readonly effect: boolean };

/**
 * Makes a row from a call of OutboxService, and later makes the call of DelayedTaskService or StreamConsumerService from the row.
 * See DECISIONS.md: rows-hold-public-options
 */
export class OutboxSender {
  constructor(
    private readonly tasks: DelayedTaskService | undefined,
    private readonly streams: StreamConsumerService | undefined,
  ) {}

  /** @throws InvalidInputError; SetupError without DelayedTaskModule */
  taskRow(task: unknown, payload: unknown, options: OutboxTaskOptions): NewRow & { readonly taskId: string } {
    const { operationRetentionMs, ...own } = outboxInput.object('options', options);
    refuseOperation(own);
    const id = randomUUID();
    const prepared = this.need(this.tasks, 'DelayedTaskModule')
      [OUTBOX]()
      .prepare(task as Task, payload, own);
    const settings = { id, ...prepared.options };
    const stored: Stored = { retainMs: checkRetention(operationRetentionMs), task: settings };
    const target = `${settings.queue}/${prepared.name}`;
    return {
      id,
      kind: 'task',
      target,
      payload: prepared.payload,
      options: JSON.stringify(stored),
      taskId: settings.id,
    };
  }

  /** @throws InvalidInputError and InvalidOptionError; SetupError without StreamConsumerModule */
  messageRow(stream: unknown, payload: unknown, options: OutboxMessageOptions): NewRow {
    const { operationRetentionMs, ...own } = outboxInput.object('options', options);
    refuseOperation(own);
    const streams = this.need(this.streams, 'StreamConsumerModule');
    const prepared = streams[OUTBOX]().prepare(stream as AnyStream, payload, own);
    const stored: Stored = { retainMs: checkRetention(operationRetentionMs), message: own, stream: prepared.options };
    const row = { id: randomUUID(), kind: 'message', target: prepared.stream, payload: prepared.payload } as const;
    return { ...row, options: JSON.stringify(stored) };
  }

  /**
   * Returns a name that is the same for rows that must keep their order: rows of one task id, and messages of a stream with the same key.
   * Rows with the same name are sent one after the other.
   */
  laneOf({ id, kind, target, options }: NewRow): string {
    try {
      const { task, message } = readStored(options);
      if (task) return JSON.stringify([kind, task.queue, task.id]);
      return message?.key === undefined ? id : JSON.stringify([kind, target, message.key]);
    } catch {
      // The options of this row are damaged. `send` fails for the same reason, and reports it.
      return id;
    }
  }

  /** Returns how long a row may be sent again after it was first sent, ms. See DECISIONS.md: half-of-the-retention */
  repeatableMs({ options }: NewRow): number {
    try {
      return readStored(options).retainMs / 2;
    } catch {
      return Infinity;
    }
  }

  /** Sends a row to Redis. Never rejects. @param sinceMs time since the row was read from the table, ms */
  async send(row: MarkedRow, sinceMs: number): Promise<SendResult> {
    try {
      const stored = readStored(row.options);
      const payload = JSON.parse(row.payload) as unknown;
      const operation = { operationId: row.id, operationRetentionMs: stored.retainMs };
      if (row.kind === 'task') await this.sendTask(row, stored, payload, operation, sinceMs);
      else await this.sendMessage(row, stored, payload, operation);
      return { status: 'sent' };
    } catch (error) {
      const code = error instanceof LuanestError ? error.code : '';
      if (REFUSED.includes(code) || error instanceof SyntaxError) return { status: 'refused', error };
      return { status: 'kept', error, effect: !(error instanceof StreamFull) && !NO_EFFECT.includes(code) };
    }
  }

  private async sendTask(
    { target, ageMs }: MarkedRow,
    { task }: Stored,
    payload: unknown,
    operation: { readonly operationId: string; readonly operationRetentionMs: number },
    sinceMs: number,
  ): Promise<void> {
    const tasks = this.need(this.tasks, 'DelayedTaskModule');
    if (task === undefined)
      throw outboxInput.error(
        'The row is for a task, but its options are not those of a task. Another program, or another version of luanest, may have written it.',
      );
    // After this error, the row stays in the table. Another process may have the queue, such as one with a newer version of the app.
    if (!tasks[OUTBOX]().has(task.queue)) {
      throw new SetupError(
        `OutboxModule: The task was not scheduled, because DelayedTaskModule of this process has no queue "${task.queue}". Add it to the option \`queues\` of DelayedTaskModule.`,
      );
    }
    const { delayMs, ...options } = task;
    // Rounding up keeps the task from running too early.
    const left = delayMs === undefined ? {} : { delayMs: Math.max(0, Math.ceil(delayMs - ageMs - sinceMs)) };
    await tasks.schedule(target.slice(target.indexOf('/') + 1), payload, { ...options, ...left, ...operation });
  }

  private async sendMessage(
    { target }: MarkedRow,
    { message, stream }: Stored,
    payload: unknown,
    operation: { readonly operationId: string; readonly operationRetentionMs: number },
  ): Promise<void> {
    const streams = this.need(this.streams, 'StreamConsumerModule');
    if (message === undefined || stream === undefined) {
      throw outboxInput.error(
        'The row is for a message, but its options are not those of a message. Another program, or another version of luanest, may have written it.',
      );
    }
    const published = await streams[OUTBOX]().publish(target, stream, { ...message, ...operation, payload });
    if (published.status === 'full')
      throw new StreamFull(
        `Stream ${target} is full: one of its partitions has ${published.length} messages that are not done (maxLength). Check that its consumers run`,
      );
  }

  private need<T>(service: T | undefined, module: string): T {
    if (service !== undefined) return service;
    throw new SetupError(
      `OutboxModule: ${module} is needed to send this row, but is not imported. Add ${module}.forRoot() to the imports of the root module.`,
    );
  }
}

class StreamFull extends Error {}

function readStored(options: string): Stored {
  return outboxInput.object('options of the row', JSON.parse(options) as Stored);
}

function refuseOperation(options: object): void {
  if ('operationId' in options) {
    throw outboxInput.error(
      'operationId is set, but the outbox uses the id of the row instead. Leave operationId out.',
    );
  }
}

function checkRetention(retainMs: unknown = DAY_MS): number {
  return outboxInput.integer('operationRetentionMs', retainMs, 60_000);
}
