import { KeySpace } from 'luanest/script-registry';
import { Partitions } from '../../../libs/delayed-task/src/queue/task-queue';
import type { Actors, Budgets } from '../engine/protocol';

export const partition = new Partitions(new KeySpace('e', 'delayed-task'), 'q', 1).at(0);

/** Pages through the dead letters, or replays or drops them, one at each call. */
export interface Operator {
  phase: 'idle' | 'list' | 'replay' | 'drop';
  operations: number;
  /** Dead letters that did not change since the operator began, and when they were dead-lettered, ms. */
  mustSee: Record<string, number>;
  seen: string[];
  /** Until when, after which instant, and after which id. */
  cursor: [untilMs: number, afterMs: number, afterId: string];
}

export interface Running {
  readonly id: string;
  readonly token: string;
  /** End of its lease by the worker's clock, ms since 1970. */
  until: number;
  /** Set once the outcome was sent: it is repeated until a reply comes. */
  outcome: 'done' | 'failed' | '';
}

export interface Worker {
  /** Number of its process: after a crash it is another one. */
  life: number;
  takes: number;
  /** When it sent a take first whose reply was lost, ms since 1970; 0: none is repeated. */
  takingSince: number;
  running: Running[];
  renewals: number;
}

export interface TaskState extends Actors {
  budgets: Budgets & {
    sweep?: number;
    handBack?: number;
    cancel?: number;
    replay?: number;
    drop?: number;
    list?: number;
  };
  /** Tasks that were not scheduled yet, and their delays. */
  toSchedule: [id: string, delayMs: number][];
  /** Number of the publisher's calls. */
  calls: number;
  /** True after `schedule-one` replied that the id exists. */
  exists: boolean;
  workers: Record<string, Worker>;
  operator: Operator;
  /** How often each task was begun since it was scheduled or replayed. */
  begun: Record<string, number>;
  /** Tasks that Redis has, as far as replies say; 'gone' after they were done, cancelled or dropped. */
  known: Record<string, 'here' | 'gone'>;
  /** Tasks that the publisher schedules again, because it got no reply: they may run again after they were done. */
  repeated: Record<string, boolean>;
  /** Tasks whose worker sent that they are done, and got no reply. */
  sentDone: Record<string, boolean>;
}

export interface Settings {
  readonly scenario: string;
  readonly budgets: TaskState['budgets'];
  /** Delay and attempts of each task. */
  readonly tasks: Readonly<Record<string, { readonly delayMs: number; readonly attempts: number }>>;
  readonly workers: readonly string[];
  readonly renewals?: number;
  readonly depth: number;
}
