import { spread } from '../../../internal/src';
import type { Amount, PaidPacket } from './audit.types';
import type { Problems } from './problem-list';

/** Kind of record in which a packet was found. */
export type PacketState = 'pool' | 'granted' | 'refunded' | 'moving' | 'voided';

const STATES: readonly PacketState[] = ['pool', 'granted', 'refunded', 'moving', 'voided'];
const IN_OUTBOX = 1;
const PAID = 2;
const DEAD_LETTER = 4;

/** State of every packet of an activity. Takes 14 bytes for each packet, however long the ids of the users are. */
export class PacketBook {
  private readonly states: Uint8Array;
  private readonly marks: Uint8Array;
  /** Hashes of user ids: another user is taken for the holder once in 4 billion. */
  private readonly users: Uint32Array;
  private readonly cents: Float64Array;

  constructor(
    private readonly packets: number,
    private readonly problems: Problems,
  ) {
    this.states = new Uint8Array(packets + 1);
    this.marks = new Uint8Array(packets + 1);
    this.users = new Uint32Array(packets + 1);
    this.cents = new Float64Array(packets + 1);
  }

  /** Notes the state of a packet. The same record may come twice: a page of a hash may repeat entries of an earlier page. */
  put(state: PacketState, packetId: string, cents: number, userId = ''): void {
    const id = this.idOf(packetId, state);
    if (id === 0) return;
    const [at, user] = [STATES.indexOf(state) + 1, spread(userId)];
    const before = this.states[id] ?? 0;
    if (before === 0) {
      this.states[id] = at;
      this.users[id] = user;
      this.cents[id] = cents;
    } else if (before !== at || this.users[id] !== user) {
      this.problems.add(`packet ${packetId} has two records: ${STATES[before - 1]} and ${state}`);
    }
  }

  /** Notes a row of the outbox. */
  noteRow(row: PaidPacket): void {
    const id = this.idOf(row.packetId, 'the outbox');
    if (id === 0) return;
    this.marks[id] = (this.marks[id] ?? 0) | IN_OUTBOX;
    const granted = this.states[id] === STATES.indexOf('granted') + 1 && this.users[id] === spread(row.userId);
    const state = STATES[(this.states[id] ?? 0) - 1];
    // The row of a void grant stays in the outbox until a payout run takes it.
    if (!granted && state !== 'voided' && state !== 'refunded') {
      this.problems.add(
        `the outbox pays packet ${row.packetId} to ${JSON.stringify(row.userId)}, who does not have it`,
      );
    } else if (granted && this.cents[id] !== row.amountCents) {
      this.problems.compare(
        `cents of packet ${row.packetId} in the outbox`,
        row.amountCents,
        'granted',
        this.cents[id] ?? 0,
      );
    }
  }

  /** Notes a packet that the ledger paid. Returns true if Redis has its grant. */
  notePaid(row: PaidPacket): boolean {
    const id = this.idOf(row.packetId, 'the ledger');
    if (id === 0) return false;
    if (((this.marks[id] ?? 0) & PAID) !== 0) this.problems.add(`the ledger has paid packet ${row.packetId} twice`);
    this.marks[id] = (this.marks[id] ?? 0) | PAID;
    const state = STATES[(this.states[id] ?? 0) - 1];
    if (state === 'voided') return true;
    if (state !== 'granted' || this.users[id] !== spread(row.userId)) return false;
    this.problems.compare(
      `cents of packet ${row.packetId} in the ledger`,
      row.amountCents,
      'granted',
      this.cents[id] ?? 0,
    );
    return true;
  }

  /** Notes a dead-lettered payout. */
  noteDeadLetter(row: PaidPacket): void {
    const id = this.idOf(row.packetId, 'the dead letters');
    if (id !== 0) this.marks[id] = (this.marks[id] ?? 0) | DEAD_LETTER;
  }

  /** Counts the packets of a state and their cents. */
  count(state: PacketState): Amount {
    const at = STATES.indexOf(state) + 1;
    let [packets, cents] = [0, 0];
    for (let id = 1; id <= this.packets; id++) {
      if (this.states[id] !== at) continue;
      packets += 1;
      cents += this.cents[id] ?? 0;
    }
    return { packets, cents };
  }

  /** Checks that every packet has a record. */
  checkPresence(): void {
    for (let id = 1; id <= this.packets; id++)
      if (this.states[id] === 0) this.problems.add(`packet ${id} has no record`);
  }

  /** Checks that every granted packet is in the outbox, paid or dead-lettered. */
  checkPayouts(): void {
    const granted = STATES.indexOf('granted') + 1;
    for (let id = 1; id <= this.packets; id++) {
      if (this.states[id] === granted && this.marks[id] === 0) {
        this.problems.add(`packet ${id} is granted, but neither in the outbox nor paid nor dead-lettered`);
      }
    }
  }

  private idOf(packetId: string, where: string): number {
    const id = /^[1-9]\d{0,6}$/.test(packetId) ? Number(packetId) : 0;
    if (id >= 1 && id <= this.packets) return id;
    this.problems.add(`${where} has ${JSON.stringify(packetId)}, which is not a packet of this activity`);
    return 0;
  }
}
