import { KeySpace } from 'luanest/script-registry';
import { Layouts } from '../../../libs/red-packet/src/buckets/layout';
import type { Actors, Budgets } from '../engine/protocol';

const layouts = new Layouts(new KeySpace('e', 'red-packet'), 2);
export const BUCKETS = 2;
export const layout = layouts.build('rain', BUCKETS);

export interface User {
  phase: 'wants' | 'over';
  readonly bucket: number;
  tries: number;
  /** Packet that the user was given; '' before. */
  packet: string;
}

/** Moves packets from one bucket to the other, or finishes a transfer that another process began. */
export interface Mover {
  phase: 'idle' | 'sent' | 'received';
  rounds: number;
  from: number;
  sequence: string;
  packets: readonly string[];
}

/** Pays the rows of the outbox into the ledger, and settles them. */
export interface Payer {
  /** Row that it works on: its id, bucket, user and packet. */
  row: { id: string; bucket: number; owner: string; user: string; grant: string; packet: string } | undefined;
  phase: 'idle' | 'paying' | 'voiding' | 'settling';
  /** Packet that the ledger had paid to the user before, for a void. */
  paid: string;
}

export interface PacketState extends Actors {
  budgets: Budgets & { close?: number; settle?: number };
  /** Step of the creation of each bucket: 0 begin, 1 fill, 2 open, 3 open now. */
  created: number[];
  users: Record<string, User>;
  movers: Record<string, Mover>;
  payers: Record<string, Payer>;
  closer: { phase: 'waits' | 'closing' | 'over'; bucket: number };
  /** The ledger: packet -> user. An SQL database with unique packets and unique users, in one transaction for each row. */
  ledger: Record<string, string>;
  settled: boolean[];
}

export interface Settings {
  readonly scenario: string;
  /** Packets of each bucket, '<id>:<cents>'. */
  readonly pools: readonly (readonly string[])[];
  /** Bucket of each user. */
  readonly users: Readonly<Record<string, number>>;
  readonly movers?: readonly string[];
  readonly moves?: number;
  readonly payers?: readonly string[];
  /** False: the creation is part of the exploration. */
  readonly isOpen?: boolean;
  readonly budgets: PacketState['budgets'];
  readonly depth: number;
}
