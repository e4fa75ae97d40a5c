import { FakeRegistry } from '../../../test/support/fake-registry';
import { turn } from '../../../test/support/manual-time';
import type { BucketReading } from '../src/buckets/bucket.scripts';
import type { BucketKeys, Layout } from '../src/buckets/layout';
import { isSoldOut, Refills } from '../src/buckets/refills';
import { Transfers } from '../src/buckets/transfers';

const reading = (parts: Partial<BucketReading> = {}): BucketReading =>
  ({
    state: 'open',
    pooled: 0,
    granted: 0,
    refundedPackets: 0,
    allPackets: 10,
    outgoing: [],
    ...parts,
  }) as BucketReading;

const keysOf = (i: number): BucketKeys =>
  Object.fromEntries(
    ['meta', 'pool', 'moves', 'refunds'].map((name) => [name, `${name}${i}`]),
  ) as unknown as BucketKeys;
const LAYOUT: Layout = { activityId: 'a', buckets: [0, 1, 2, 3].map(keysOf) };

/** Refills of buckets that are read so. @param arriving packets that arrive from a bucket, by its index */
function open(readings: BucketReading[], arriving: Readonly<Record<number, number>> = {}, finished = 0) {
  const moves: string[] = [];
  let reads = 0;
  const transfers = {
    readAll: () => ((reads += 1), Promise.resolve(readings)),
    move: (_: Layout, { from, to }: { from: number; to: number }) => (
      moves.push(`${from}>${to}`),
      Promise.resolve(arriving[from] ?? 0)
    ),
    finish: () => (moves.push('finish'), Promise.resolve(finished)),
  };
  return { refills: new Refills(transfers as never), moves, reads: () => reads };
}

describe('a refill', () => {
  it('is not needed if the bucket has packets by now', async () => {
    const { refills, moves } = open([reading({ pooled: 1 }), reading({ pooled: 5 })]);
    expect([await refills.refill(LAYOUT, 0), moves]).toEqual(['moved', []]);
  });

  it('knows that all packets are gone', async () => {
    const { refills, moves } = open([reading({ granted: 4 }), reading({ granted: 5, refundedPackets: 1 })]);
    expect([await refills.refill(LAYOUT, 0), moves]).toEqual(['sold-out', []]);
  });

  it('first asks the buckets that have begun a transfer to it, then the fullest', async () => {
    const readings = [
      reading({ outgoing: [1] }),
      reading(),
      reading({ pooled: 3 }),
      reading({ pooled: 7 }),
      reading({ pooled: 9, outgoing: [3, 1] }),
      reading({ pooled: 0 }),
    ];
    const { refills, moves } = open(readings, { 2: 1 });
    expect([await refills.refill(LAYOUT, 1), moves]).toEqual(['moved', ['0>1', '4>1', '3>1', '2>1']]);
  });

  it('asks no further bucket when packets have arrived', async () => {
    const { refills, moves } = open([reading(), reading({ pooled: 3 }), reading({ pooled: 7 })], { 2: 2, 1: 1 });
    expect([await refills.refill(LAYOUT, 0), moves]).toEqual(['moved', ['2>0']]);
  });

  it.each([
    [0, 'nothing'],
    [2, 'moved'],
  ])('then tries to finish transfers between other buckets: %i, %s', async (finished, refilled) => {
    const { refills, moves } = open([reading(), reading({ pooled: 1 })], {}, finished);
    expect([await refills.refill(LAYOUT, 0), moves]).toEqual([refilled, ['1>0', 'finish']]);
  });

  it('of one bucket runs once at a time, and again after that', async () => {
    const { refills, reads } = open([reading({ pooled: 1 }), reading({ pooled: 1 })]);
    const other = { ...LAYOUT, activityId: 'b' };
    await Promise.all([
      refills.refill(LAYOUT, 0),
      refills.refill(LAYOUT, 0),
      refills.refill(LAYOUT, 1),
      refills.refill(other, 0),
    ]);
    expect(reads()).toBe(3);
    await turn();
    await refills.refill(LAYOUT, 0);
    expect(reads()).toBe(4);
  });
});

describe('an activity', () => {
  it.each<[string, BucketReading[], boolean]>([
    [
      'all packets are granted or refunded',
      [reading({ granted: 3 }), reading({ granted: 2, refundedPackets: 5 })],
      true,
    ],
    ['a packet is left', [reading({ granted: 9 })], false],
    ['more than all packets are gone, so Redis has lost something', [reading({ granted: 11 })], false],
    ['a bucket is gone', [reading({ granted: 10 }), reading({ state: '' })], false],
    ['a bucket is a draft', [reading({ granted: 10 }), reading({ state: 'draft' })], false],
    ['it has no packets', [reading({ allPackets: 0 })], false],
    ['it has no buckets', [], false],
  ])('is sold out only by its counters: %s', (_, readings, soldOut) => {
    expect(isSoldOut(readings)).toBe(soldOut);
  });
});

describe('a transfer', () => {
  const start = () => {
    const registry = new FakeRegistry();
    return { registry, transfers: new Transfers(registry.asRegistry) };
  };
  const DIRECTION = { from: 1, to: 2 };
  const SENT = { sequence: 4, expiresAtMs: '5', packets: ['p1', 'p2'] };

  it('takes packets, adds them, and deletes the record', async () => {
    const { registry, transfers } = start();
    const moved = transfers.move(LAYOUT, DIRECTION);
    const { keys, args } = registry.last;
    expect([registry.last.script, keys, args]).toEqual([
      'red-packet.send-packets',
      { meta: 'meta1', pool: 'pool1', moves: 'moves1' },
      { to: 2, most: 500, restMs: 50 },
    ]);
    registry.last.reply.resolve({ sent: SENT });
    await turn();
    expect([registry.last.script, registry.last.keys, registry.last.args]).toEqual([
      'red-packet.receive-packets',
      { meta: 'meta2', pool: 'pool2', moves: 'moves2', refunds: 'refunds2' },
      { from: 1, ...SENT },
    ]);
    registry.last.reply.resolve('received');
    await turn();
    expect([registry.last.script, registry.last.keys, registry.last.args]).toEqual([
      'red-packet.confirm-transfer',
      { moves: 'moves1' },
      { to: 2, sequence: 4 },
    ]);
    registry.last.reply.resolve(undefined);
    expect(await moved).toBe(2);
  });

  it('ends without packets', async () => {
    const { registry, transfers } = start();
    const moved = transfers.move(LAYOUT, DIRECTION, 3);
    expect(registry.last.args).toMatchObject({ most: 3 });
    registry.last.reply.resolve({ sent: undefined });
    expect([await moved, registry.calls.length]).toEqual([0, 1]);
  });

  it('stays begun if the destination is missing', async () => {
    const { registry, transfers } = start();
    const moved = transfers.move(LAYOUT, DIRECTION);
    registry.last.reply.resolve({ sent: SENT });
    await turn();
    registry.last.reply.resolve('missing');
    expect([await moved, registry.calls.length]).toEqual([0, 2]);
  });

  it('that others have begun is finished, and no new one begins', async () => {
    const { registry, transfers } = start();
    const finished = transfers.finish(LAYOUT, [reading({ outgoing: [1, 2] }), reading(), reading({ outgoing: [0] })]);
    expect(registry.calls.map(({ keys, args }) => [keys.moves, args.to, args.most])).toEqual([
      ['moves0', 1, 0],
      ['moves0', 2, 0],
      ['moves2', 0, 0],
    ]);
    for (const { reply } of registry.calls) reply.resolve({ sent: undefined });
    expect(await finished).toBe(3);
  });

  it('is preceded by a reading of all buckets', async () => {
    const { registry, transfers } = start();
    const read = transfers.readAll(LAYOUT);
    expect(registry.calls.map(({ keys, args }) => [(keys as unknown as BucketKeys).meta, args])).toEqual([
      ['meta0', {}],
      ['meta1', {}],
      ['meta2', {}],
      ['meta3', {}],
    ]);
    for (const [i, { reply }] of registry.calls.entries()) reply.resolve(i);
    expect(await read).toEqual([0, 1, 2, 3]);
  });
});
