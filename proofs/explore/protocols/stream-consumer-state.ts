import type { Actors, Budgets } from '../engine/protocol';

export const ATTEMPTS = 2;

/** An entry that a session works on. */
export interface Held {
  readonly id: string;
  readonly key: string;
  readonly attempt: number;
  readonly firstSeenMs: number;
  /** Set once an outcome was sent and its reply was lost. */
  outcome: '' | 'handle' | 'retry' | 'dead-letter';
}

export interface Consumer {
  readonly group: string;
  isOpen: boolean;
  /** Number of its session. */
  life: number;
  isNew: boolean;
  takes: number;
  /** When it first sent a take whose reply was lost, ms since 1970; 0: none is repeated. */
  takingSince: number;
  until: number;
  held: Held[];
  renewals: number;
}

export interface StreamState extends Actors {
  budgets: Budgets & { repair?: number; trim?: number; replay?: number; tidy?: number };
  toPublish: { name: string; key: string }[];
  /** Id of each message whose publication was confirmed. */
  published: Record<string, string>;
  consumers: Record<string, Consumer>;
  /** Ids that each group has handled or dead-lettered. */
  handled: Record<string, string[]>;
  /** Ids whose settlement was sent by each group, and got no reply. */
  sent: Record<string, string[]>;
}

export interface Settings {
  readonly scenario: string;
  readonly groups: readonly string[];
  /** Group of each consumer. */
  readonly consumers: Readonly<Record<string, string>>;
  /** Key of each message. */
  readonly messages: Readonly<Record<string, string>>;
  readonly ordered?: boolean;
  /** False: handlers never fail. */
  readonly failures?: boolean;
  /** False: the consumers find the partition without groups, as after its number was raised. */
  readonly isOpen?: boolean;
  readonly renewals?: number;
  readonly budgets: StreamState['budgets'];
  readonly depth: number;
}
