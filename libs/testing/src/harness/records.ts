import type { DelayedTaskEvents, ScheduleOptions } from 'luanest/delayed-task';
import type { LockEvents } from 'luanest/lock';
import type { OnceEvents } from 'luanest/once';
import type { RateLimitEvents } from 'luanest/rate-limit';
import type { ReadRewardEvents } from 'luanest/read-reward';
import type { ScheduledLockEvents } from 'luanest/scheduled-lock';
import type { StreamConsumerEvents } from 'luanest/stream-consumer';
import { originOf, subscribeTo } from '../../../internal/src';
import { PacketRecords } from './packet-records';

/** A task that a call has scheduled. A rejected call is not recorded, although its task may exist. */
export interface ScheduledTask {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  /** Options of the call, without `id`. */
  readonly options: Omit<ScheduleOptions, 'id'>;
  readonly status: 'scheduled' | 'replaced' | 'follows' | 'kept';
  /** When the task is due, ms since 1970; 0 if the id has a task already, and that task is not waiting. */
  readonly runAtMs: number;
}

/** A message that a call has published. A rejected call is not recorded, although its message may exist. */
export interface PublishedMessage {
  /** Id in the form `<partition>:<entry id>`. */
  readonly id: string;
  readonly stream: string;
  readonly payload: unknown;
  readonly key: string | undefined;
  readonly operationId: string | undefined;
  /** True if an earlier call with the same operation id added the message, or if this call was sent twice. */
  readonly replayed: boolean;
}

/** Channel of an event, and a function that records the event. The channel is given by name, so that no lib must be loaded. */
type Keeper = readonly [channel: string, keep: (event: never) => void];

/** Events and calls of the app since `clear()`. */
export class Records {
  readonly scheduled: ScheduledTask[] = [];
  readonly settled: DelayedTaskEvents['attemptSettled'][] = [];
  readonly published: PublishedMessage[] = [];
  readonly retried: StreamConsumerEvents['messageRetried'][] = [];
  readonly deadLettered: StreamConsumerEvents['messageDeadLettered'][] = [];
  readonly refused: RateLimitEvents['requestRefused'][] = [];
  readonly claims: OnceEvents['claimAnswered']['status'][] = [];
  readonly rewards: ReadRewardEvents['readRecorded'][] = [];
  readonly jobs: ScheduledLockEvents['tickEnded'][] = [];
  readonly packets = new PacketRecords();
  private readonly held = new Map<string, number>();
  private readonly keepers: readonly Keeper[] = [
    ['luanest:delayed-task:attempt.settled', (event) => this.settled.push(event)],
    ['luanest:stream-consumer:messages.handled', (event) => this.packets.handled(event)],
    ['luanest:stream-consumer:message.retried', (event) => this.packets.retried(event)],
    ['luanest:stream-consumer:message.retried', (event) => this.retried.push(event)],
    ['luanest:stream-consumer:message.dead-lettered', (event) => this.packets.dead(event)],
    ['luanest:stream-consumer:message.dead-lettered', (event) => this.deadLettered.push(event)],
    ['luanest:rate-limit:request.refused', (event) => this.refused.push(event)],
    ['luanest:once:claim.answered', ({ status }: OnceEvents['claimAnswered']) => this.claims.push(status)],
    ['luanest:read-reward:read.recorded', (event) => this.rewards.push(event)],
    ['luanest:scheduled-lock:tick.ended', (event) => this.jobs.push(event)],
    ['luanest:lock:acquisition.ended', (event: LockEvents['acquisitionEnded']) => this.acquired(event)],
    ['luanest:lock:lock.released', ({ name }: LockEvents['lockReleased']) => this.held.delete(name)],
    ['luanest:lock:lock.lost', ({ name }: LockEvents['lockLost']) => this.held.delete(name)],
  ];

  private readonly ends: (() => void)[] = [];

  /** Names of the locks that LockService holds, the oldest first. */
  get heldLocks(): readonly string[] {
    return [...this.held.keys()];
  }

  /** Begins to record. @param isOwn returns true for a ScriptRegistry of this app */
  start(isOwn: (registry: object) => boolean): void {
    for (const [channel, keep] of this.keepers) {
      const keepOwn = (event: unknown): void => {
        const origin = originOf(event as object);
        if (origin === undefined || isOwn(origin)) keep(event as never);
      };
      this.ends.push(subscribeTo(channel, keepOwn));
    }
  }

  stop(): void {
    for (const end of this.ends.splice(0)) end();
  }

  /** Empties all lists, except that of the locks that are held. */
  clear(): void {
    const lists = [this.scheduled, this.settled, this.published, this.retried, this.deadLettered];
    for (const list of [...lists, this.refused, this.claims, this.rewards, this.jobs]) list.length = 0;
    this.packets.clear();
  }

  private acquired({ status, names }: LockEvents['acquisitionEnded']): void {
    if (status === 'acquired') for (const name of names) this.held.set(name, 1);
  }
}
