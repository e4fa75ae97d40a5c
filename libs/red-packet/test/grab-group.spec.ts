import { size } from '../../../test/support/size';
import { standaloneClient } from '../../script-registry/test/support';
import type { BucketKeys } from '../src/buckets/layout';
import { grabPacket } from '../src/grabs/grab.scripts';
import { groupOfOne } from './group-of-one';
import { figures, openBench, type Bench } from './support';

/** Numbers from 0 to below 1 that are the same in each run of the test. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const grabInGroup = groupOfOne(grabPacket) as typeof grabPacket;

describe('grab-group does what grab does', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standaloneClient());
    bench.registry.register([grabInGroup]);
  });
  afterAll(() => bench.close());

  /** Keys of an activity, with an outbox of its own in the same slot, so that a damage is of this activity alone. */
  function keysOf(activityId: string): BucketKeys {
    const keys = bench.keysOf(activityId) as BucketKeys;
    return { ...keys, outbox: `${keys.meta}:outbox` };
  }

  /** Everything that Redis has of an activity, without times and ids of rows. */
  async function stateOf(activityId: string): Promise<unknown> {
    const { raw } = bench;
    const keys = Object.entries(keysOf(activityId)) as [string, string][];
    const read = keys.map(async ([name, key]) => {
      const type = await raw.type(key);
      const value =
        type === 'hash'
          ? Object.entries(await raw.hgetall(key)).sort()
          : type === 'list'
            ? await raw.lrange(key, 0, -1)
            : type === 'stream'
              ? (await raw.xrange(key, '-', '+')).map(([, fields]) => fields)
              : type === 'string'
                ? await raw.get(key)
                : undefined;
      return [name, type, await raw.pttl(key), value];
    });
    const text = JSON.stringify(await Promise.all(read));
    return JSON.parse(
      text
        .replaceAll(/\b1[67]\d{11}\b/g, 'ms')
        .replaceAll(/[0-9a-f]{32}/g, 'hash')
        .replaceAll(encodeURIComponent(activityId), 'id')
        .replaceAll(activityId, 'id'),
    ) as unknown;
  }

  async function grab(script: typeof grabPacket, activityId: string, userId: string, mode: number): Promise<unknown> {
    const { meta, pool, grants, outbox, tries } = keysOf(activityId);
    const input = { keys: { meta, pool, grants, outbox, tries }, args: { userId, mode } };
    try {
      return JSON.parse(JSON.stringify(await bench.registry.run(script, input)).replaceAll(/\b1[67]\d{11}\b/g, '0'));
    } catch (error) {
      return {
        redisCode: (error as { redisCode?: string }).redisCode,
        message: (error as Error).message.split(':')[1],
      };
    }
  }

  /** Changes that other scripts, operators and faults make, by name. */
  const damages: Record<string, (keys: Record<string, string>) => Promise<unknown>> = {
    none: () => Promise.resolve(),
    'no meta': ({ meta = '' }) => bench.raw.del(meta),
    'no pool': ({ pool = '' }) => bench.raw.del(pool),
    'no grants': ({ grants = '' }) => bench.raw.del(grants),
    'no outbox': ({ outbox = '' }) => bench.raw.del(outbox),
    'meta of another type': ({ meta = '' }) => bench.raw.set(meta, 'x'),
    'pool of another type': ({ pool = '' }) => bench.raw.set(pool, 'x'),
    'grants of another type': ({ grants = '' }) => bench.raw.set(grants, 'x'),
    'outbox of another type': ({ outbox = '' }) => bench.raw.set(outbox, 'x'),
    'bad grant': ({ grants = '' }) => bench.raw.hset(grants, 'u1', 'what?'),
    paused: ({ meta = '' }) => bench.raw.hset(meta, 'state', 'paused'),
    closed: ({ meta = '' }) => bench.raw.hset(meta, 'state', 'closed'),
    root: ({ meta = '' }) => bench.raw.hset(meta, 'state', 'spread:4'),
    'a bucket of four': ({ meta = '' }) => bench.raw.hset(meta, 'buckets', '4'),
    ended: ({ meta = '' }) => bench.raw.hset(meta, 'endsAtMs', '1'),
    ...Object.fromEntries(
      ['startsAtMs', 'endsAtMs', 'maxTries', 'heldCents', 'bestCents'].flatMap((field) =>
        ['', 'x', 'nan', '-1', '0', '1e3', '300'].map((text) => [
          `${field} of ${JSON.stringify(text)}`,
          ({ meta = '' }: Record<string, string>) => bench.raw.hset(meta, field, text),
        ]),
      ),
    ),
    ...Object.fromEntries(
      ['', 'x', '5', '5:0:0', '5:007:7', '5:1:2:3', '5:1:1\n', '5:99999999999999999:1', '5:501:501', '5:7:7'].map(
        (head) => [
          `head of ${JSON.stringify(head)}`,
          ({ pool = '' }: Record<string, string>) => bench.raw.lpush(pool, head),
        ],
      ),
    ),
    ...Object.fromEntries(
      ['', 'x', '-1', '1.5', '007', '1e3', '99999999999999999', '9007199254740993', '0', '12'].map((text) => [
        `granted of ${JSON.stringify(text)}`,
        ({ grants = '' }: Record<string, string>) => bench.raw.hset(grants, '', text),
      ]),
    ),
  };

  it.each(Object.keys(damages).filter((_, i) => i < 15 || i % size(4, 1) === 0))('also with %s', async (name) => {
    const random = randomOf(name.length * 7_919 + 1);
    const ids = [`one ${name}`, `two ${name}`] as const;
    const maxTries = random() < 0.5 ? 0 : 2;
    for (const activityId of ids) {
      await bench.packets.create({ ...figures(activityId, 6), split: 'equal', maxTries });
      await bench.raw.xgroup('CREATE', keysOf(activityId).outbox, 'payouts', '0', 'MKSTREAM');
    }
    const steps = Array.from({ length: 24 }, () => ({
      userId: `u${Math.floor(random() * 9)}`,
      mode: random() < 0.2 ? 2 : 0,
    }));
    for (const [i, { userId, mode }] of steps.entries()) {
      if (i === 4) for (const id of ids) await damages[name]?.({ ...keysOf(id) });
      const expected = await grab(grabPacket, ids[0], userId, mode);
      expect(await grab(grabInGroup, ids[1], userId, mode)).toEqual(expected);
      // States that have come to differ stay different.
      if ((i + 1) % size(8, 1) === 0) expect(await stateOf(ids[1])).toEqual(await stateOf(ids[0]));
    }
  });
});
