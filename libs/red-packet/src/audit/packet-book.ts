import { spread } from '../../../internal/src';
import type { Amount, PaidPacket } from './audit.types';
import type { Problems } from './problem-list';

/** Where a packet was found. */
export type Place = 'pool' | 'granted' | 'refunded' | 'moving' | 'voided';

const PLACES: readonly Place[] = ['pool', 'granted', 'refunded', 'moving', 'voided'];
const IN_OUTBOX = 1;
const PAID = 2;
const DEAD = 4;

/** Where every packet of an activity is: 14 bytes a packet, whatever the ids of its users. */
export class PacketBook {
  private readonly places: Uint8Array;
  private readonly marks: Uint8Array;
  /** Hashes, not names: another user is mistaken for the holder once in 4 billion. */
  private readonly users: Uint32Array;
  private readonly cents: Float64Array;

  constructor(
    private readonly packets: number,
    private readonly problems: Problems,
  ) {
    this.places = new Uint8Array(packets + 1);
    this.marks = new Uint8Array(packets + 1);
    this.users = new Uint32Array(packets + 1);
    this.cents = new Float64Array(packets + 1);
  }

  /** Notes where a packet is. The same again is no news: a page of a hash may repeat what an earlier one had. */
  put(place: Place, packetId: string, cents: number, userId = ''): void {
    const id = this.idOf(packetId, place);
    if (id === 0) return;
    const [at, user] = [PLACES.indexOf(place) + 1, spread(userId)];
    const before = this.places[id] ?? 0;
    if (before === 0) {
      this.places[id] = at;
      this.users[id] = user;
      this.cents[id] = cents;
    } else if (before !== at || this.users[id] !== user) {
      this.problems.add(`packet ${packetId} is in two places: ${PLACES[before - 1]} and ${place}`);
    }
  }

  /** Notes a row of the outbox. */
  row(row: PaidPacket): void {
    const id = this.idOf(row.packetId, 'the outbox');
    if (id === 0) return;
    this.marks[id] = (this.marks[id] ?? 0) | IN_OUTBOX;
    const granted = this.places[id] === PLACES.indexOf('granted') + 1 && this.users[id] === spread(row.userId);
    const place = PLACES[(this.places[id] ?? 0) - 1];
    // A void grant's row waits for its worker like any other.
    if (!granted && place !== 'voided' && place !== 'refunded') {
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

  /** Notes what the ledger paid. Answers whether Redis knows of it. */
  paid(row: PaidPacket): boolean {
    const id = this.idOf(row.packetId, 'the ledger');
    if (id === 0) return false;
    if (((this.marks[id] ?? 0) & PAID) !== 0) this.problems.add(`the ledger has paid packet ${row.packetId} twice`);
    this.marks[id] = (this.marks[id] ?? 0) | PAID;
    const place = PLACES[(this.places[id] ?? 0) - 1];
    if (place === 'voided') return true;
    if (place !== 'granted' || this.users[id] !== spread(row.userId)) return false;
    this.problems.compare(
      `cents of packet ${row.packetId} in the ledger`,
      row.amountCents,
      'granted',
      this.cents[id] ?? 0,
    );
    return true;
  }

  /** Notes a payout that was given up. */
  dead(row: PaidPacket): void {
    const id = this.idOf(row.packetId, 'the dead letters');
    if (id !== 0) this.marks[id] = (this.marks[id] ?? 0) | DEAD;
  }

  /** Packets and cents in a place. */
  count(place: Place): Amount {
    const at = PLACES.indexOf(place) + 1;
    let [packets, cents] = [0, 0];
    for (let id = 1; id <= this.packets; id++) {
      if (this.places[id] !== at) continue;
      packets += 1;
      cents += this.cents[id] ?? 0;
    }
    return { packets, cents };
  }

  /** Every packet must be somewhere. */
  checkPresence(): void {
    for (let id = 1; id <= this.packets; id++) if (this.places[id] === 0) this.problems.add(`packet ${id} is nowhere`);
  }

  /** Every granted packet must be on its way to the user, or paid, or given up. */
  checkPayouts(): void {
    const granted = PLACES.indexOf('granted') + 1;
    for (let id = 1; id <= this.packets; id++) {
      if (this.places[id] === granted && this.marks[id] === 0) {
        this.problems.add(`packet ${id} is granted, and neither in the outbox nor paid`);
      }
    }
  }

  private idOf(packetId: string, where: string): number {
    const id = /^[1-9]\d{0,6}$/.test(packetId) ? Number(packetId) : 0;
    if (id >= 1 && id <= this.packets) return id;
    this.problems.add(`${where} holds ${JSON.stringify(packetId)}, which is no packet of this activity`);
    return 0;
  }
}
