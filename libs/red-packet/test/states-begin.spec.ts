import { NOW, ScriptStates } from '../../../test/support/script-states';
import { beginActivity, openActivity, voidGrant } from '../src/activity/activity.scripts';
import { redPacketScripts } from '../src/red-packet.scripts';

type Fields = Readonly<Record<string, string | number>>;

const HOUR = 3_600_000;

describe('each script of the life of a bucket, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(redPacketScripts);
  const begin = (args: Fields = {}) =>
    states.call(beginActivity, {
      fingerprint: 'print',
      totalCents: 100,
      packets: 3,
      allPackets: 9,
      buckets: 4,
      bucket: 2,
      startsAtMs: NOW + 50,
      endsAtMs: NOW + 100,
      maxTries: 5,
      soldOutMs: 6,
      retentionMs: 1_000,
      expiresAtMs: 0,
      seed: 'seed',
      reports: 0,
      encodedId: 'a%2Fb',
      ...args,
    });
  const open = () => states.call(openActivity, { group: 'payouts' });
  const put = (fields: Fields) => states.put('HSET', 'meta', ...Object.entries(fields).flat());
  const clear = () => {
    for (const name of ['meta', 'pool', 'grants', 'outbox', 'refunds', 'voids']) states.put('DEL', name);
  };

  it('begin: stores the parameters, and returns a replay what is stored', async () => {
    states.clock.set(NOW + 0.5);
    expect(await states.after(begin())).toEqual([
      { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800000001100, endsAtMs: 1800000000100 },
      {
        meta: 'activity=a%2Fb@1800000001100/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000100, expiresAtMs=1800000001100, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=draft, totalCents=100 | 1100',
      },
    ]);
    expect(await states.after(begin({ seed: 'other' }))).toEqual([
      { status: 'found', state: 'draft', seed: 'seed', expiresAtMs: 1800000001100, endsAtMs: 1800000000100 },
      {
        meta: 'activity=a%2Fb@1800000001100/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000100, expiresAtMs=1800000001100, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=draft, totalCents=100 | 1100',
      },
    ]);
    expect((await states.after(begin({ fingerprint: 'other' })))[0]).toEqual({
      status: 'conflict',
      state: 'draft',
      seed: 'seed',
      expiresAtMs: 1800000001100,
      endsAtMs: 1800000000100,
    });
    states.put('PERSIST', 'meta');
    expect((await states.after(begin({ bucket: -1 })))[1]).toEqual(states.keys());
    expect(String(states.keys().meta)).not.toContain(' | ');
    expect(String((await states.after(begin()))[1].meta)).toMatch(/ \| 1100$/);
    states.put('PERSIST', 'meta');
    put({ state: 'open' });
    expect((await states.after(begin()))[0]).toEqual({
      status: 'found',
      state: 'open',
      seed: 'seed',
      expiresAtMs: 1800000001100,
      endsAtMs: 1800000000100,
    });
    expect(String(states.keys().meta)).not.toContain(' | ');
    put({ forgetAtMs: NOW + 900 });
    expect(await begin()).toMatchObject({ status: 'settled' });
    expect(await begin({ fingerprint: 'other' })).toMatchObject({ status: 'conflict' });
  });

  it.each([
    [
      'a root, with reports',
      { bucket: -1, reports: 1 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800000001100, endsAtMs: 1800000000100 },
        {
          meta: 'activity=a%2Fb@1800000001100/4/-1, allPackets=9, bestCents=0, bucket=-1, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000100, expiresAtMs=1800000001100, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, reportedPackets=0, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=draft, totalCents=100',
        },
      ],
    ],
    [
      'without an end',
      { endsAtMs: 0 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800000001050, endsAtMs: 1800000000550 },
        {
          meta: 'activity=a%2Fb@1800000001050/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000550, expiresAtMs=1800000001050, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=draft, totalCents=100 | 1050',
        },
      ],
    ],
    [
      'without a start',
      { startsAtMs: 0, endsAtMs: 0, retentionMs: 90_000_001 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800090000001, endsAtMs: 1800086400001 },
        {
          meta: 'activity=a%2Fb@1800090000001/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800086400001, expiresAtMs=1800090000001, fingerprint=print, heldCents=100, keepMs=86400000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=0, state=draft, totalCents=100 | 90000001',
        },
      ],
    ],
    [
      'with a retention of less than two hours',
      { startsAtMs: 0, endsAtMs: 0, retentionMs: 2 * HOUR - 1 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800007199999, endsAtMs: 1800003600000 },
        {
          meta: 'activity=a%2Fb@1800007199999/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800003600000, expiresAtMs=1800007199999, fingerprint=print, heldCents=100, keepMs=7199999, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=0, state=draft, totalCents=100 | 7199999',
        },
      ],
    ],
    [
      'with a retention of two hours',
      { startsAtMs: 0, endsAtMs: 0, retentionMs: 2 * HOUR + 2 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800007200002, endsAtMs: 1800003600002 },
        {
          meta: 'activity=a%2Fb@1800007200002/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800003600002, expiresAtMs=1800007200002, fingerprint=print, heldCents=100, keepMs=7200002, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=0, state=draft, totalCents=100 | 7200002',
        },
      ],
    ],
    [
      'that ends before it starts',
      { endsAtMs: NOW + 50 },
      [{ status: 'over', state: 'draft', seed: '', expiresAtMs: 0, endsAtMs: 1800000000050 }, {}],
    ],
    [
      'that ended',
      { startsAtMs: 0, endsAtMs: NOW },
      [{ status: 'over', state: 'draft', seed: '', expiresAtMs: 0, endsAtMs: 1800000000000 }, {}],
    ],
    [
      'that ends now + 1',
      { startsAtMs: 0, endsAtMs: NOW + 1 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800000001001, endsAtMs: 1800000000001 },
        {
          meta: 'activity=a%2Fb@1800000001001/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000001, expiresAtMs=1800000001001, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=0, state=draft, totalCents=100 | 1001',
        },
      ],
    ],
    [
      'of a root that ended',
      { startsAtMs: 0, endsAtMs: NOW - 5, expiresAtMs: NOW + 1 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800000000001, endsAtMs: 1799999999995 },
        {
          meta: 'activity=a%2Fb@1800000000001/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1799999999995, expiresAtMs=1800000000001, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=0, state=draft, totalCents=100 | 1',
        },
      ],
    ],
    [
      'of a root that is over',
      { startsAtMs: 0, endsAtMs: NOW - 5, expiresAtMs: NOW },
      [{ status: 'over', state: 'draft', seed: '', expiresAtMs: 0, endsAtMs: 1799999999995 }, {}],
    ],
    [
      'of a root that ends before it starts',
      { endsAtMs: NOW + 50, expiresAtMs: NOW + 99 },
      [{ status: 'over', state: 'draft', seed: '', expiresAtMs: 0, endsAtMs: 1800000000050 }, {}],
    ],
    [
      'of a root, without an end',
      { startsAtMs: 0, endsAtMs: 0, expiresAtMs: NOW + 700, retentionMs: 1_001 },
      [
        { status: 'begun', state: 'draft', seed: 'seed', expiresAtMs: 1800000000700, endsAtMs: 1800000000200 },
        {
          meta: 'activity=a%2Fb@1800000000700/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000200, expiresAtMs=1800000000700, fingerprint=print, heldCents=100, keepMs=1001, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=0, state=draft, totalCents=100 | 700',
        },
      ],
    ],
  ])('begin: stores a bucket %s, if it can', async (_, args, expected) => {
    expect(await states.after(begin(args as Fields))).toEqual(expected);
  });

  it('begin, open and void-grant: go by the state, also if other fields are lost', async () => {
    put({ state: 'open' });
    expect(await begin()).toMatchObject({ status: 'conflict', state: 'open' });
    clear();
    put({ state: 'draft', bucket: -1, buckets: 2 });
    expect(await open()).toBe('opened');
    clear();
    put({ expiresAtMs: 5 });
    states.put('HSET', 'grants', '', '30:7', 'me', `7:30:${NOW - 5}`);
    expect(await states.call(voidGrant, { userId: 'me', packetId: '7', paid: '', owner: '' })).toBe('void');
  });

  it.each(['pool', 'grants'])('begin: stores nothing if there is the key %s', async (name) => {
    states.put('SET', name, 'x');
    expect(await states.after(begin())).toEqual([
      { status: 'orphaned', state: 'draft', seed: '', expiresAtMs: 0, endsAtMs: 0 },
      { [name]: 'x' },
    ]);
  });
});
