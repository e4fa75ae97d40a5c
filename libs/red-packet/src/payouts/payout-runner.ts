import { Logger } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import {
  deadLetter,
  retryLater,
  type HandlerResult,
  type StreamConsumerHandle,
  type StreamConsumerOptions,
  type StreamConsumerService,
  type StreamDefinition,
  type StreamMessage,
} from 'luanest/stream-consumer';
import {
  Bell,
  ClosedError,
  DELETES,
  InvalidInputError,
  idleChecksOf,
  messageOf,
  INSPECT,
  MOVED,
  oneLine,
  Retries,
  shown,
  thrownText,
  TimeoutError,
  unfinishedOutcome,
} from '../../../internal/src';
import type { Activities } from '../activity/activities';
import { PAYOUT_GROUP } from '../buckets/layout';
import { DurableRows } from './durable-rows';
import { rowOf, type PayoutRow } from './payout-row';
import type { Payout, PayoutHandler, PayoutRun } from './payouts.types';

/** Longest pause between two reads of a stream without payouts, ms. Usually a Pub/Sub message causes a read earlier. */
const POLL_MS = 3_600_000;
/**
 * An entry that is not a payout for this process may be one for a process with another number of partitions. So it is looked at again after
 * this time, ms.
 */
const ELSEWHERE_MS = 1_000;
/** Number of commands that Redis runs in a check of an idle stream: the script and its XLEN. */
const IDLE_COMMANDS = 2;
/**
 * The stream consumer gives a message up to this many attempts. A payout becomes a dead letter earlier, after its own option `attempts`.
 */
export const MOST_ATTEMPTS = 10_000;
const MAX_PROBLEM = 1_000;
const NO_ATTEMPT_LEFT =
  'Error: no attempt is left: the process died, shut down or lost its lease during the last attempt, or the option attempts was lowered since';
const ASKED = 'the handler asked for a retry';
const ABORTED = retryLater({ delayMs: 0, countsAsAttempt: false });
/** A payout that too few replicas have confirmed is looked at again after this time, ms. */
const UNREPLICATED_MS = 1_000;
const UNREPLICATED = retryLater({ delayMs: UNREPLICATED_MS, countsAsAttempt: false });

/** Log lines for steps that failed. */
const FAILED = {
  read: 'The payouts of red packets could not start, because a call to Redis failed. The start is tried again; until then, payouts are late.',
  settle:
    'Outcomes of red-packet payouts could not be stored, because a call to Redis failed. This is tried again. A payout may be handled twice.',
};

/** Options of a payout run. Options that are left out have the defaults of StreamConsumerModule. */
export interface ResolvedPayoutOptions extends Omit<StreamConsumerOptions, 'stream' | 'group'> {
  readonly attempts: number;
}

/** Consumer with the method for luanest/testing. A mock of StreamConsumerService may return one without it. */
interface Inspected {
  [INSPECT]?(): { readNow(partition?: number): void };
}

/** Stream message of each payout, for luanest/testing. */
export const messages = new WeakMap<Payout, Pick<StreamMessage, 'stream' | 'id'>>();

/** End of a handler: the returned or the thrown value. */
type Ended = { readonly value: unknown } | { readonly error: unknown };

/**
 * Calls the app's handler for each payout. Reads the streams of all partitions as one stream. Scripts of this lib remove paid and
 * dead-lettered payouts, and update counters. The stream consumer, which removes finished entries, then finds that the entry is gone.
 */
export class PayoutRunner implements PayoutRun {
  private readonly logger = new Logger('RedPacketPayouts');
  private readonly retries = new Retries<'read' | 'settle'>((during, error) => this.failed(during, error));
  private readonly durable: DurableRows;
  private starting: Promise<StreamConsumerHandle | undefined> = Promise.resolve(undefined);
  private stopping = false;
  private bells: { close(): void }[] = [];
  private problem = '';

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly activities: Pick<Activities, 'layouts' | 'list' | 'outboxes' | 'replicated'>,
    private readonly streams: StreamConsumerService,
    private readonly stream: StreamDefinition,
    private readonly handler: PayoutHandler,
    private readonly options: ResolvedPayoutOptions,
  ) {
    this.durable = new DurableRows(activities.replicated, this.logger);
  }

  /** True after `stop`, or once the stream consumer was found to be closed. */
  get stopped(): boolean {
    return this.stopping;
  }

  start(): void {
    const options = {
      ...this.options,
      attempts: MOST_ATTEMPTS,
      pollMs: POLL_MS,
      [DELETES]: true,
      stream: this.stream,
      group: PAYOUT_GROUP,
    };
    this.starting = this.retries.run(
      'read',
      () => this.stopping,
      () => this.streams.handle(options, (message) => this.pay(message)),
    );
    const { outboxes } = this.activities.layouts;
    this.bells = outboxes.map((outbox, partition) => this.listen(outbox, partition));
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const bell of this.bells) bell.close();
    const handle = await this.starting;
    await handle?.stop();
    this.retries.close();
  }

  /** Makes the run look for payouts now, in one partition or in all. */
  readNow(partition?: number): void {
    void this.starting.then((handle) => (handle as Inspected | undefined)?.[INSPECT]?.().readNow(partition));
  }

  // See DECISIONS.md: winners-ring
  private listen(outbox: string, partition: number): { close(): void } {
    const rung = (): void => {
      if (this.stopping) return;
      bell.listen();
      this.readNow(partition);
    };
    const bell = new Bell(this.registry, outbox, rung, (error) => this.failed('read', error));
    bell.listen();
    const checks = idleChecksOf(this.registry);
    const idle = { commands: IDLE_COMMANDS, check: () => this.activities.outboxes.wake(outbox) };
    checks.add(idle);
    return {
      close() {
        bell.close();
        checks.remove(idle);
      },
    };
  }

  private failed(during: keyof typeof FAILED, error: unknown): void {
    if (error instanceof ClosedError) {
      this.stopping = true;
      return;
    }
    const problem = `${during} ${thrownText(error)}`;
    if (problem === this.problem) return;
    this.problem = problem;
    this.logger.warn(`${FAILED[during]} ${thrownText(error)}`);
  }

  private async pay(message: StreamMessage): Promise<HandlerResult> {
    const [partition = '', rowId = ''] = message.id.split(':');
    const { layouts } = this.activities;
    const outbox = layouts.outboxes[Number(partition)] ?? '';
    const row = rowOf(message.payload, outbox, layouts);
    if (row === undefined) return this.refuse();
    if (message.attempt > this.options.attempts) return this.bury(row, rowId, message, NO_ATTEMPT_LEFT);
    if (this.durable.isNeeded) {
      const waited = layouts.waited[Number(partition)] ?? '';
      const state = await this.durable.check({ outbox, waited }, row, rowId, message.signal);
      if (state === 'gone') return ABORTED;
      if (state === 'waiting' || message.signal.aborted) return UNREPLICATED;
    }
    const ended = await this.call(payoutOf(row, message), message);
    const isLast = message.attempt >= this.options.attempts;
    const { aborted } = message.signal;
    const reason: unknown = message.signal.reason;
    // The handler may have returned early because of its AbortSignal, so its result is ignored.
    if (aborted && !(reason instanceof TimeoutError)) return ABORTED;
    if (aborted && !isLast) throw reason;
    if (aborted) return this.bury(row, rowId, message, textOf(reason));
    const outcome = unfinishedOutcome('error' in ended ? ended.error : ended.value);
    if (outcome?.kind === 'dead-letter') return this.bury(row, rowId, message, outcome.reason);
    if (outcome !== undefined) {
      return isLast && outcome.countsAsAttempt ? this.bury(row, rowId, message, ASKED) : outcome;
    }
    if ('error' in ended) {
      const { error } = ended;
      if (isLast || (error instanceof InvalidInputError && error.code === 'INVALID_OUTCOME'))
        return this.bury(row, rowId, message, textOf(error));
      throw error;
    }
    return this.settle(row, rowId, message);
  }

  /**
   * Dead-letters an entry that is not a payout. If Redis fails, or has another number of partitions, looks at the entry again later,
   * because it may be a payout for another process.
   */
  private async refuse(): Promise<HandlerResult> {
    try {
      await this.activities.list.compareStored();
    } catch (error) {
      this.failed('settle', error);
      return retryLater({ delayMs: ELSEWHERE_MS, countsAsAttempt: false });
    }
    return deadLetter(
      'This entry of the stream red-packet.payouts is not a payout of a red packet: another program wrote it.',
    );
  }

  /** Calls the handler. In the last attempt, waits at most `timeoutMs`, because the payout then becomes a dead letter. */
  private async call(payout: Payout, { attempt, signal }: StreamMessage): Promise<Ended> {
    const ended = (async (): Promise<Ended> => {
      try {
        return { value: await this.handler(payout) };
      } catch (error) {
        return { error };
      }
    })();
    if (attempt < this.options.attempts) return ended;
    let aborted: (() => void) | undefined;
    const timeLimit = new Promise<Ended>((resolve) => {
      aborted = () => resolve({ error: signal.reason });
      signal.addEventListener('abort', aborted);
    });
    try {
      return await Promise.race([ended, timeLimit]);
    } finally {
      if (aborted !== undefined) signal.removeEventListener('abort', aborted);
    }
  }

  /** Removes a paid payout. Tries again until Redis confirms this, or until another process may have taken it over. */
  private async settle(row: PayoutRow, rowId: string, { signal }: StreamMessage): Promise<HandlerResult> {
    const settled = await this.retries.run(
      'settle',
      () => signal.aborted,
      async () => {
        await this.activities.outboxes.settle(row, rowId);
        return true;
      },
    );
    if (settled === undefined) return ABORTED;
    this.problem = '';
    return undefined;
  }

  private async bury(
    row: PayoutRow,
    rowId: string,
    message: StreamMessage & { [MOVED]?: boolean },
    problem: string,
  ): Promise<HandlerResult> {
    const { attempt, firstSeenAtMs, signal } = message;
    const why = kept(problem);
    const given = { problem: why, attempts: Math.min(attempt, this.options.attempts), firstSeenMs: firstSeenAtMs };
    const timedOut = signal.aborted;
    const buried = await this.retries.run(
      'settle',
      () => this.stopping || (signal.aborted && !timedOut),
      () => this.activities.outboxes.bury(row, rowId, given),
    );
    if (buried === undefined) return ABORTED;
    if (buried === 'buried') {
      this.logger.warn(
        `Packet ${row.grant.packetId} of activity ${oneLine(shown(row.activityId))} was not paid: its payout failed in all attempts ` +
          'and is dead-lettered. Replay the payout, or drop it if you paid by other means.',
      );
    }
    // MOVED shows the stream consumer that the payout is in the dead letters of its bucket, or is gone. If Redis no longer has the
    // activity, the consumer keeps the dead letter itself.
    message[MOVED] = buried !== 'forgotten';
    return deadLetter(why);
  }
}

function payoutOf({ activityId, activityKey, grant }: PayoutRow, message: StreamMessage): Payout {
  const payout: Payout = {
    activityId,
    activityKey,
    ...grant,
    idempotencyKey: `${activityKey}:${grant.packetId}`,
    attempt: message.attempt,
    get signal() {
      return message.signal;
    },
  };
  messages.set(payout, message);
  return payout;
}

function textOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${messageOf(error)}` : `${typeof error}: ${String(error)}`;
  } catch {
    return 'a thrown value that cannot be shown';
  }
}

/** Shortens a text to 1,000 characters, as one line of well-formed Unicode that is not empty. */
function kept(text: string): string {
  return oneLine(text.slice(0, MAX_PROBLEM)).toWellFormed() || '?';
}
