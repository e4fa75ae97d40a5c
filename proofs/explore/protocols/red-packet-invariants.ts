import { keysOf, type BucketKeys } from '../../../libs/red-packet/src/buckets/layout';
import { readSent } from '../../../libs/red-packet/src/buckets/bucket.scripts';
import type { Invariant } from '../engine/protocol';
import type { World } from '../engine/world';
import { BUCKETS, layout, type PacketState, type Settings } from './red-packet-state';

/** Packets of a bucket, '<id>:<cents>', by where they are. */
interface Books {
  readonly pool: string[];
  readonly granted: string[];
  readonly refunded: string[];
  /** Packets on their way: the other bucket has not received them yet. */
  readonly moving: string[];
}

function booksOf(bucket: number, world: World): Books {
  const { pool, grants, refunds, moves } = keysOf(layout, bucket);
  const packet = (text: string): string => text.split(':').slice(0, 2).join(':');
  const list = (key: string): string[] => (world.read('LRANGE', key, '0', '-1') as string[]).map(packet);
  const fields = world.read('HGETALL', grants) as string[];
  const granted = fields.filter((_, at) => at % 2 === 1 && fields[at - 1] !== '').map(packet);
  const record = world.read('HGET', moves, `out:${1 - bucket}`) as string | null;
  const moving: string[] = [];
  if (record !== null) {
    const { sequence, packets } = readSent(record);
    const received = Number(world.read('HGET', keysOf(layout, 1 - bucket).moves, `in:${bucket}`) ?? 0);
    if (Number(sequence) > received) moving.push(...packets);
  }
  return { pool: list(pool), granted, refunded: list(refunds), moving };
}

function centsOf(packets: readonly string[]): number {
  return packets.reduce((sum, packet) => sum + Number(packet.split(':')[1]), 0);
}

function metaOf({ meta }: BucketKeys, field: string, world: World): number {
  return Number(world.read('HGET', meta, field) ?? 0);
}

export function invariants(settings: Settings): Invariant<PacketState>[] {
  const all = settings.pools.flat().sort();
  const isCreated = ({ created }: PacketState): boolean => created.every((step) => step === 3);
  return [
    {
      words:
        'Each packet is at exactly one place: in a pool, granted to one user, refunded, or on its way between buckets. So no cent is lost and none is given twice. Not promised after a failover.',
      broken: (state, world) => {
        if (state.disturbed || !isCreated(state)) return undefined;
        const found: string[] = [];
        for (let bucket = 0; bucket < BUCKETS; bucket++) {
          const { pool, granted, refunded, moving } = booksOf(bucket, world);
          found.push(...pool, ...granted, ...refunded, ...moving);
        }
        found.sort();
        return found.join() === all.join() ? undefined : `The packets are ${found.join(', ')}.`;
      },
    },
    {
      words: 'In each bucket, the cents held are those in the pool, granted and refunded. The same condition.',
      broken: (state, world) => {
        if (state.disturbed || !isCreated(state)) return undefined;
        for (let bucket = 0; bucket < BUCKETS; bucket++) {
          const keys = keysOf(layout, bucket);
          const { pool, granted, refunded } = booksOf(bucket, world);
          const held = metaOf(keys, 'heldCents', world);
          const cents = centsOf(pool) + centsOf(granted) + centsOf(refunded);
          if (held !== cents) return `Bucket ${bucket} holds ${held} cents, and has ${cents}.`;
          if (metaOf(keys, 'refundedCents', world) !== centsOf(refunded))
            return `The refunds of bucket ${bucket} differ.`;
        }
        return undefined;
      },
    },
    {
      words:
        'A user who was given a packet has it for good, and who looks again gets the same one. The same condition.',
      broken: ({ users, disturbed }, world) => {
        if (disturbed) return undefined;
        for (const [name, { bucket, packet }] of Object.entries(users)) {
          const grant = world.read('HGET', keysOf(layout, bucket).grants, name) as string | null;
          if (packet !== '' && grant?.split(':')[0] !== packet)
            return `${name} was given ${packet}, and Redis has ${grant}.`;
        }
        return undefined;
      },
    },
    {
      words:
        'What is granted is paid or owed: the ledger has it, or the outbox has its row. The ledger pays no packet and no user twice. The same condition.',
      broken: ({ ledger, disturbed }, world) => {
        const paidUsers = Object.values(ledger);
        if (new Set(paidUsers).size < paidUsers.length) return 'A user was paid twice.';
        if (disturbed) return undefined;
        for (let bucket = 0; bucket < BUCKETS; bucket++) {
          const { outbox } = keysOf(layout, bucket);
          const rows = (world.read('XRANGE', outbox, '-', '+') as [string, string[]][]).map(
            ([, fields]) => fields[5]?.split(':')[0],
          );
          const unpaid = booksOf(bucket, world).granted.find((packet) => {
            const id = packet.split(':')[0] as string;
            return ledger[id] === undefined && !rows.includes(id);
          });
          if (unpaid !== undefined) return `Packet ${unpaid} is neither paid nor owed.`;
        }
        return undefined;
      },
    },
    {
      words:
        'The rows of a bucket in the outbox are as many as its counters show: one for each grant, less those that were settled.',
      broken: (state, world) => {
        for (let bucket = 0; bucket < BUCKETS; bucket++) {
          if ((state.created[bucket] ?? 0) < 3) continue;
          const keys = keysOf(layout, bucket);
          const granted = (world.read('HLEN', keys.grants) as number) - 1 + metaOf(keys, 'grantShift', world);
          const rows = granted + metaOf(keys, 'rowShift', world) - metaOf(keys, 'settledRows', world);
          const found = world.read('XLEN', keys.outbox) as number;
          if (rows !== found) return `Bucket ${bucket} has ${found} rows, and ${rows} by its counters.`;
        }
        return undefined;
      },
    },
    {
      words: 'What is owed has no TTL.',
      broken: (_state, world) => {
        for (let bucket = 0; bucket < BUCKETS; bucket++) {
          const { outbox } = keysOf(layout, bucket);
          if (world.db.expiryOf(outbox) != null && (world.read('XLEN', outbox) as number) > 0)
            return `The outbox of bucket ${bucket}.`;
        }
        return undefined;
      },
    },
  ];
}

export function unsettled(state: PacketState, world: World): string | undefined {
  if (state.created.some((step) => step < 3)) return 'A bucket is not open.';
  for (const [name, { phase }] of Object.entries(state.users)) if (phase !== 'over') return `${name} still grabs.`;
  for (const [name, { phase, rounds }] of Object.entries(state.movers)) {
    if (phase !== 'idle' || rounds > 0) return `${name} still moves packets.`;
  }
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const { outbox } = keysOf(layout, bucket);
    if (Object.keys(state.movers).length > 0 && booksOf(bucket, world).moving.length > 0)
      return 'A transfer is not finished.';
    if (Object.keys(state.payers).length > 0 && (world.read('XLEN', outbox) as number) > 0) return 'A payout is owed.';
  }
  return state.closer.phase === 'closing' ? 'The activity is not closed.' : undefined;
}
