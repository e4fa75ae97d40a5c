import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { DelayedTaskEvents } from 'luanest/delayed-task';
import { LockEvents } from 'luanest/lock';
import { OnceEvents } from 'luanest/once';
import { RateLimitEvents } from 'luanest/rate-limit';
import { ReadRewardEvents } from 'luanest/read-reward';
import { ScheduledLockEvents } from 'luanest/scheduled-lock';
import { StreamConsumerEvents } from 'luanest/stream-consumer';

/** Attempts at tasks of which the details are kept. */
const KEPT_TASKS = 5;
/** Maximum number of names in one set of counts. */
const MOST_NAMES = 20;

/** Counts by name. */
export type Counts = Readonly<Record<string, number>>;

/** An attempt at a delayed task that ended in this process. */
interface TaskNote {
  readonly name: string;
  readonly status: DelayedTaskEvents['attemptSettled']['status'];
  /** Delay from the due time to the start, ms, by Redis' clock. */
  readonly lateMs: number;
  /** End of the attempt, ms since 1970, by this process' clock. */
  readonly atMs: number;
}

/** Counts of what the libs did in this process since its start. */
export interface LibFigures {
  /** Refused requests, by the name of the limit. A request that two limits refuse counts for both. */
  readonly limits: Counts;
  /**
   * Requests with an idempotency key: `claimed` ran; `done` came after that and got the stored response, or a refusal if it was
   * not stored; `in-progress` came while another one ran.
   */
  readonly once: Counts;
  /** Ticks of scheduled jobs, and runs by hand, by outcome. */
  readonly jobs: Counts;
  /** Attempts at delayed tasks, by status. `dead` includes tasks whose lease ended in the last attempt. */
  readonly tasks: Counts;
  /** The last five attempts at delayed tasks, the newest first. */
  readonly lastTasks: readonly TaskNote[];
  /** Rains that visitors joined (read-reward's `record`), by outcome. */
  readonly reads: Counts;
  /** Points that visitors earned by joining rains. */
  readonly points: number;
  /**
   * Messages of streams. `retried`: will be handled again. `dead`: dead-lettered. `lost`: another consumer may have them.
   * `taken-over`: from a consumer whose lease has ended.
   */
  readonly streams: Counts;
  /**
   * `lost`: locks that were lost. `errors`: renewals, releases at the end of the work, and subscriptions that failed. Both include
   * the leases of scheduled jobs.
   */
  readonly locks: Counts;
}

/** Counts by name. Counts of all names after the first twenty go to `others`, so that a report stays small. */
class Tally {
  readonly counts: Record<string, number> = {};

  add(name: string, by = 1): void {
    const known = name in this.counts || Object.keys(this.counts).length < MOST_NAMES;
    const under = known ? name : 'others';
    this.counts[under] = (this.counts[under] ?? 0) + by;
  }
}

// See DECISIONS.md: counts-from-lib-events
/** Counts the events that the libs publish on `node:diagnostics_channel`, from the end of the app's boot to its shutdown. */
@Injectable()
export class LibCounts implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly limits = new Tally();
  private readonly once = new Tally();
  private readonly jobs = new Tally();
  private readonly tasks = new Tally();
  private readonly reads = new Tally();
  private readonly streams = new Tally();
  private readonly locks = new Tally();
  private readonly lastTasks: TaskNote[] = [];
  private refusals = 0;
  private points = 0;

  private readonly listeners: readonly (readonly [string, (event: never) => void])[] = [
    [RateLimitEvents.requestRefused, (event: RateLimitEvents['requestRefused']) => this.countRefusal(event)],
    [OnceEvents.claimAnswered, ({ status }: OnceEvents['claimAnswered']) => this.once.add(status)],
    [ScheduledLockEvents.tickEnded, ({ status }: ScheduledLockEvents['tickEnded']) => this.jobs.add(status)],
    [LockEvents.lockLost, () => this.locks.add('lost')],
    [LockEvents.callFailed, () => this.locks.add('errors')],
    [DelayedTaskEvents.attemptSettled, (event: DelayedTaskEvents['attemptSettled']) => this.noteTask(event)],
    [DelayedTaskEvents.tasksBuried, ({ count }: DelayedTaskEvents['tasksBuried']) => this.tasks.add('dead', count)],
    [ReadRewardEvents.readRecorded, (event: ReadRewardEvents['readRecorded']) => this.countRead(event)],
    [StreamConsumerEvents.messageRetried, () => this.streams.add('retried')],
    [StreamConsumerEvents.messageDeadLettered, () => this.streams.add('dead')],
    [
      StreamConsumerEvents.messagesLost,
      ({ ids }: StreamConsumerEvents['messagesLost']) => this.streams.add('lost', ids.length),
    ],
    [
      StreamConsumerEvents.sessionTakenOver,
      ({ messages }: StreamConsumerEvents['sessionTakenOver']) => this.streams.add('taken-over', messages),
    ],
  ];

  get refused(): number {
    return this.refusals;
  }

  figures(): LibFigures {
    return {
      limits: this.limits.counts,
      once: this.once.counts,
      jobs: this.jobs.counts,
      tasks: this.tasks.counts,
      lastTasks: this.lastTasks,
      reads: this.reads.counts,
      points: this.points,
      streams: this.streams.counts,
      locks: this.locks.counts,
    };
  }

  onApplicationBootstrap(): void {
    for (const [name, listener] of this.listeners) subscribe(name, listener as (event: unknown) => void);
  }

  onApplicationShutdown(): void {
    for (const [name, listener] of this.listeners) unsubscribe(name, listener as (event: unknown) => void);
  }

  private countRefusal({ violated }: RateLimitEvents['requestRefused']): void {
    this.refusals += 1;
    for (const rule of violated) this.limits.add(rule);
  }

  private countRead({ status, points }: ReadRewardEvents['readRecorded']): void {
    this.reads.add(status);
    this.points += points;
  }

  private noteTask({ name, status, lateMs }: DelayedTaskEvents['attemptSettled']): void {
    this.tasks.add(status);
    this.lastTasks.unshift({ name, status, lateMs, atMs: Date.now() });
    this.lastTasks.length = Math.min(this.lastTasks.length, KEPT_TASKS);
  }
}
