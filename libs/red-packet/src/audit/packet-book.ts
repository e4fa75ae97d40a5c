import { spread } from '../../../internal/src';
import type { Amount, PaidPacket } from './audit.types';
import type { Problems } from './problem-list';

/**
 * Place of a packet: left in a bucket, with a winner, refunded, on the way between buckets, or taken from its winner. Each packet must be
 * in exactly one place.
 */
export type PacketState = 'pool' | 'granted' | 'refunded' | 'moving' | 'voided';

const STATES: readonly PacketState[] = ['pool', 'granted', 'refunded', 'moving', 'voided'];
/** Bits for the places where a packet's payout was found: open payouts, ledger, dead letters. */
const IN_OUTBOX = 1;
const PAID = 2;
const DEAD_LETTER = 4;

/** Notes the place of every packet of an activity during a deep audit. Takes 14 bytes per packet, however long the ids of users are. */
export class PacketBook {
  private readonly states: Uint8Array;
  private readonly marks: Uint8Array;
  /** Hash of the id of each packet's winner. Two users have the same hash once in about 4 billion pairs. */
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

  /** Records in which place a packet was found. May be called twice for the same record, because HSCAN may return an entry on two pages. */
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
      this.problems.add(`packet ${packetId} is recorded twice in Redis: as ${STATES[before - 1]} and as ${state}`);
    }
  }

  /** Notes an open payout. Adds a problem if no grant has this packet, user and amount. */
  noteRow(row: PaidPacket): void {
    const id = this.idOf(row.packetId, 'the outbox');
    if (id === 0) return;
    this.marks[id] = (this.marks[id] ?? 0) | IN_OUTBOX;
    const granted = this.states[id] === STATES.indexOf('granted') + 1 && this.users[id] === spread(row.userId);
    const state = STATES[(this.states[id] ?? 0) - 1];
    // A payout without a grant is a problem. But a grant that was voided or refunded has an open payout until the handler returns.
    if (!granted && state !== 'voided' && state !== 'refunded') {
      this.problems.add(
        `a payout would pay packet ${row.packetId} to ${JSON.stringify(row.userId)}, but this user was not granted it`,
      );
    } else if (granted && this.cents[id] !== row.amountCents) {
      this.problems.compare(
        `cents of packet ${row.packetId} in its payout`,
        row.amountCents,
        'cents that the user won',
        this.cents[id] ?? 0,
      );
    }
  }

  /** Notes a packet that the ledger has paid. Returns true if the count found its grant to this user, or found the packet as voided. */
  notePaid(row: PaidPacket): boolean {
    const id = this.idOf(row.packetId, 'the ledger');
    if (id === 0) return false;
    if (((this.marks[id] ?? 0) & PAID) !== 0)
      this.problems.add(`the ledger has paid packet ${row.packetId} more than once`);
    this.marks[id] = (this.marks[id] ?? 0) | PAID;
    const state = STATES[(this.states[id] ?? 0) - 1];
    if (state === 'voided') return true;
    if (state === 'refunded') this.problems.add(`packet ${row.packetId} was refunded, but the ledger has paid it, too`);
    if (state !== 'granted' || this.users[id] !== spread(row.userId)) return false;
    this.problems.compare(
      `cents of packet ${row.packetId} in the ledger`,
      row.amountCents,
      'cents that the user won',
      this.cents[id] ?? 0,
    );
    return true;
  }

  noteDeadLetter(row: PaidPacket): void {
    const id = this.idOf(row.packetId, 'the dead letters');
    if (id !== 0) this.marks[id] = (this.marks[id] ?? 0) | DEAD_LETTER;
  }

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

  checkPresence(): void {
    for (let id = 1; id <= this.packets; id++)
      if (this.states[id] === 0)
        this.problems.add(
          `packet ${id} is missing in Redis: it is neither waiting, granted, refunded, moving between buckets, nor void`,
        );
  }

  /** Returns true if a packet has a winner, but no payout: neither an open one, nor one in the ledger or the dead letters. */
  isUnpaid(packetId: string): boolean {
    const id = Number(packetId);
    return this.states[id] === STATES.indexOf('granted') + 1 && this.marks[id] === 0;
  }

  /** Returns true if any winner has no payout. */
  hasUnpaid(): boolean {
    return this.states.some((_, id) => this.isUnpaid(String(id)));
  }

  /** Returns the number of a packet. For an id that the activity does not have, adds a problem and returns 0. */
  private idOf(packetId: string, where: string): number {
    const id = /^[1-9]\d{0,6}$/.test(packetId) ? Number(packetId) : 0;
    if (id >= 1 && id <= this.packets) return id;
    this.problems.add(`${where} has a packet ${JSON.stringify(packetId)}, which this activity does not have`);
    return 0;
  }
}
