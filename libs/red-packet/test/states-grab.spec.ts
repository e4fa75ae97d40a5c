import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { readGrant, readLuckiest } from '../src/activity/results.scripts';
import { grabPacket } from '../src/grabs/grab.scripts';
import { groupOfOne } from './group-of-one';
import { redPacketScripts } from '../src/red-packet.scripts';

/** An open bucket of an activity without other buckets, which has granted 5 of 100 cents. */
const META = {
  state: 'open',
  startsAtMs: NOW,
  endsAtMs: NOW + 1,
  maxTries: 2,
  heldCents: 100,
  bestCents: 30,
  activity: 'a@1/1/0',
  buckets: 1,
};
const POOL = ['1:20:20', '2:31:51', '3:31:82', '4:40:122'];

describe.each([
  ['grab', grabPacket],
  ['grab-group', groupOfOne(grabPacket)],
])('%s, in a state and at a time of which all is known,', (_, script) => {
  const states = new ScriptStates([...redPacketScripts, script]);
  const grab = (userId = 'me', mode = 0) => states.call(script, { userId, mode });
  const setUp = (meta: Readonly<Record<string, string | number>> = {}, pool: readonly string[] = POOL) => {
    for (const name of ['meta', 'pool', 'grants', 'outbox', 'tries']) states.put('DEL', name);
    states.put('HSET', 'meta', ...Object.entries({ ...META, ...meta }).flat());
    if (pool.length > 0) states.put('RPUSH', 'pool', ...pool);
    states.put(
      'HSET',
      'grants',
      '',
      `5:${NOW - 7}`,
      'old',
      `9:5:${NOW - 7}`,
      'ledger',
      `8:6:${NOW - 8}:l`,
      'norm',
      'x',
    );
    states.put('XADD', 'outbox', '1-1', 'f', 'v');
  };

  it('grants the first packet, and returns a replay the packet', async () => {
    setUp();
    states.clock.set(NOW + 0.5);
    expect(await states.after(grab())).toEqual([
      { status: 'won', packet: { packetId: '1', amountCents: 20, grantedAtMs: 1800000000000 } },
      {
        grants: '=25:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=30, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox: '1-1 f=v, 1800000000000-0 activity=a@1/1/0 user=me grant=1:20:1800000000000',
        pool: '2:31:51, 3:31:82, 4:40:122',
      },
    ]);
    expect(await states.after(grab())).toEqual([
      { status: 'already-won', packet: { packetId: '1', amountCents: 20, grantedAtMs: 1800000000000 } },
      {
        grants: '=25:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=30, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox: '1-1 f=v, 1800000000000-0 activity=a@1/1/0 user=me grant=1:20:1800000000000',
        pool: '2:31:51, 3:31:82, 4:40:122',
      },
    ]);
    expect(await states.after(grab('second'))).toEqual([
      { status: 'won', packet: { packetId: '2', amountCents: 31, grantedAtMs: 1800000000000 } },
      {
        grants:
          '=56:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993, second=2:31:1800000000000',
        meta: 'activity=a@1/1/0, bestAt=1800000000000, bestCents=31, bestPacket=2, bestUser=second, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox:
          '1-1 f=v, 1800000000000-0 activity=a@1/1/0 user=me grant=1:20:1800000000000, 1800000000000-1 activity=a@1/1/0 user=second grant=2:31:1800000000000',
        pool: '3:31:82, 4:40:122',
      },
    ]);
    expect(await states.after(grab('third'))).toEqual([
      { status: 'won', packet: { packetId: '3', amountCents: 31, grantedAtMs: 1800000000000 } },
      {
        grants:
          '=87:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993, second=2:31:1800000000000, third=3:31:1800000000000',
        meta: 'activity=a@1/1/0, bestAt=1800000000000, bestCents=31, bestPacket=2, bestUser=second, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox:
          '1-1 f=v, 1800000000000-0 activity=a@1/1/0 user=me grant=1:20:1800000000000, 1800000000000-1 activity=a@1/1/0 user=second grant=2:31:1800000000000, 1800000000000-2 activity=a@1/1/0 user=third grant=3:31:1800000000000',
        pool: '4:40:122',
      },
    ]);
    expect(await states.after(grab('fourth'))).toEqual([
      'error BADMETA',
      {
        grants:
          '=87:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993, second=2:31:1800000000000, third=3:31:1800000000000',
        meta: 'activity=a@1/1/0, bestAt=1800000000000, bestCents=31, bestPacket=2, bestUser=second, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox:
          '1-1 f=v, 1800000000000-0 activity=a@1/1/0 user=me grant=1:20:1800000000000, 1800000000000-1 activity=a@1/1/0 user=second grant=2:31:1800000000000, 1800000000000-2 activity=a@1/1/0 user=third grant=3:31:1800000000000',
        pool: '4:40:122',
      },
    ]);
  });

  it('grants packets one after the other to calls that are sent at once', async () => {
    setUp({ heldCents: 127, maxTries: 0 });
    const users = ['a', 'b', 'a', 'c', 'd', 'e'];
    expect(await states.after(Promise.all(users.map((user) => grab(user))))).toEqual([
      [
        { status: 'won', packet: { packetId: '1', amountCents: 20, grantedAtMs: 1800000000000 } },
        { status: 'won', packet: { packetId: '2', amountCents: 31, grantedAtMs: 1800000000000 } },
        { status: 'already-won', packet: { packetId: '1', amountCents: 20, grantedAtMs: 1800000000000 } },
        { status: 'won', packet: { packetId: '3', amountCents: 31, grantedAtMs: 1800000000000 } },
        { status: 'won', packet: { packetId: '4', amountCents: 40, grantedAtMs: 1800000000000 } },
        { status: 'none-left' },
      ],
      {
        grants:
          '=127:1800000000000, a=1:20:1800000000000, b=2:31:1800000000000, c=3:31:1800000000000, d=4:40:1800000000000, ledger=8:6:1799999999992:l, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestAt=1800000000000, bestCents=40, bestPacket=4, bestUser=d, buckets=1, endsAtMs=1800000000001, heldCents=127, maxTries=0, startsAtMs=1800000000000, state=open',
        outbox:
          '1-1 f=v, 1800000000000-0 activity=a@1/1/0 user=a grant=1:20:1800000000000, 1800000000000-1 activity=a@1/1/0 user=b grant=2:31:1800000000000, 1800000000000-2 activity=a@1/1/0 user=c grant=3:31:1800000000000, 1800000000000-3 activity=a@1/1/0 user=d grant=4:40:1800000000000',
      },
    ]);
  });

  it('grants each packet once to many calls that are sent at once', async () => {
    const pool = Array.from({ length: 9 }, (__, at) => `${at + 1}:10:${10 * (at + 1)}`);
    setUp({ heldCents: 1_000 }, pool);
    const replies = await Promise.all(pool.map((packet) => grab(`user of ${packet}`)));
    expect(replies).toMatchObject(pool.map((packet) => ({ packet: { packetId: packet.split(':')[0] } })));
    expect(states.put('LLEN', 'pool')).toBe(0);
    expect(states.put('HGET', 'grants', '')).toBe('95:1800000000000');
  });

  it('grants the last cents', async () => {
    setUp({ heldCents: 25, bestCents: 20 });
    expect(await states.after(grab())).toEqual([
      { status: 'won', packet: { packetId: '1', amountCents: 20, grantedAtMs: 1800000000000 } },
      {
        grants: '=25:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=20, buckets=1, endsAtMs=1800000000001, heldCents=25, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox: '1-1 f=v, 1800000000000-0 activity=a@1/1/0 user=me grant=1:20:1800000000000',
        pool: '2:31:51, 3:31:82, 4:40:122',
      },
    ]);
    setUp({ heldCents: 24 });
    const before = states.keys();
    expect(await states.after(grab())).toEqual(['error BADMETA', before]);
  });

  it('returns the packet that a user has', async () => {
    setUp({ state: 'closed' });
    const before = states.keys();
    expect(await states.after(grab('old'))).toEqual([
      { status: 'already-won', packet: { packetId: '9', amountCents: 5, grantedAtMs: 1799999999993 } },
      {
        grants: '=5:1799999999993, ledger=8:6:1799999999992:l, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=30, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=closed',
        outbox: '1-1 f=v',
        pool: '1:20:20, 2:31:51, 3:31:82, 4:40:122',
      },
    ]);
    expect(await states.after(grab('ledger', 1))).toEqual([
      { status: 'already-won', packet: { packetId: '8', amountCents: 6, grantedAtMs: 1799999999992 } },
      {
        grants: '=5:1799999999993, ledger=8:6:1799999999992:l, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=30, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=closed',
        outbox: '1-1 f=v',
        pool: '1:20:20, 2:31:51, 3:31:82, 4:40:122',
      },
    ]);
    expect(await states.after(grab('norm'))).toEqual(['error BADGRANT', before]);
  });

  it.each([
    [
      'before its start',
      { startsAtMs: NOW + 3, endsAtMs: NOW + 9 },
      { status: 'not-open', reason: 'preheated', opensInMs: 3 },
    ],
    ['at its end', { endsAtMs: NOW }, { status: 'not-open', reason: 'ended', opensInMs: 0 }],
    ['after its end', { endsAtMs: NOW - 1 }, { status: 'not-open', reason: 'ended', opensInMs: 0 }],
    ['that is paused', { state: 'paused', startsAtMs: 'x' }, { status: 'not-open', reason: 'paused', opensInMs: 0 }],
    ['that is a root', { state: 'spread:3' }, { status: 'sharded', buckets: 3 }],
    ['without a start', { startsAtMs: 'x' }, 'error BADMETA'],
    ['without an end', { endsAtMs: 'x' }, 'error BADMETA'],
    ['without a number of tries', { maxTries: 'x' }, 'error BADMETA'],
    ['with a wrong largest packet', { bestCents: 'x' }, 'error BADMETA'],
    ['without cents', { heldCents: 'x' }, 'error BADMETA'],
    ['with cents that are not a number', { heldCents: 'nan' }, 'error BADMETA'],
  ])('grants nothing of a bucket %s', async (__, meta, reply) => {
    setUp(meta);
    const before = states.keys();
    const [found, keys] = await states.after(grab());
    expect(keys).toEqual(before);
    expect(found).toEqual(reply);
  });

  it('grants nothing of a bucket whose payouts would have no owner', async () => {
    setUp();
    states.put('HDEL', 'meta', 'activity');
    const before = states.keys();
    expect(await states.after(grab())).toEqual(['error BADMETA', before]);
  });

  it('grants nothing of a bucket that does not exist', async () => {
    expect(await states.after(grab())).toEqual([{ status: 'not-open', reason: 'unknown', opensInMs: 0 }, {}]);
  });

  it.each([
    ['lost', undefined, 'error LOSTGRANTS'],
    ['without a time', '5', 'error BADMETA'],
    ['not a number', 'x:1', 'error BADMETA'],
    ['with a zero in front', '05:1', 'error BADMETA'],
    ['of 17 digits', `${'1'.repeat(17)}:1`, 'error BADMETA'],
    ['of 16 digits, and more than the bucket has', `${'1'.repeat(16)}:1`, 'error BADMETA'],
  ])('grants nothing if the cents granted are %s', async (__, cents, reply) => {
    setUp();
    states.put('HDEL', 'grants', '');
    if (cents !== undefined) states.put('HSET', 'grants', '', cents);
    const before = states.keys();
    expect(await states.after(grab())).toEqual([reply, before]);
  });

  it('grants nothing of a bucket whose numbers are wrong, although it might have enough', async () => {
    setUp({ heldCents: '9'.repeat(18) });
    states.put('HSET', 'grants', '', `${'1'.repeat(17)}:1`);
    expect((await states.after(grab()))[0]).toBe('error BADMETA');
    setUp({ heldCents: 'x' }, ['1:1:1']);
    states.put('HSET', 'grants', '', '0:0');
    expect((await states.after(grab()))[0]).toBe('error BADMETA');
  });

  it('counts a grab that is to be confirmed', async () => {
    setUp({}, []);
    await grab('me', 1);
    expect(states.keys().tries).toBe('me=1');
  });

  it('grants 16 digits of cents, and begins at 0', async () => {
    setUp({ heldCents: '9000000000000000' });
    states.put('HSET', 'grants', '', '1000000000000000:1');
    expect((await states.after(grab()))[1].grants).toEqual(
      '=1000000000000020:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993',
    );
    setUp();
    states.put('HSET', 'grants', '', '0:0');
    expect((await states.after(grab()))[1].grants).toEqual(
      '=20:1800000000000, ledger=8:6:1799999999992:l, me=1:20:1800000000000, norm=x, old=9:5:1799999999993',
    );
  });

  it.each([
    ['without a sum', '1:20', 'error BADPACKET'],
    ['without cents', '1:0:20', 'error BADPACKET'],
    ['of 61 characters', `${'1'.repeat(56)}:1:10`, 'error BADPACKET'],
    ['of 17 digits of cents', `1:${'1'.repeat(17)}:10`, 'error BADPACKET'],
    ['of 16 digits of cents', `1:${'1'.repeat(16)}:10`, 'error BADMETA'],
  ])('grants no packet %s', async (__, packet, reply) => {
    setUp({}, [packet]);
    const before = states.keys();
    expect(await states.after(grab())).toEqual([reply, before]);
  });

  it('grants a packet of 60 characters', async () => {
    setUp({}, [`${'1'.repeat(55)}:1:10`]);
    expect((await states.after(grab()))[0]).toEqual({
      status: 'won',
      packet: {
        packetId: '1111111111111111111111111111111111111111111111111111111',
        amountCents: 1,
        grantedAtMs: 1800000000000,
      },
    });
  });

  it('counts grabs without a packet', async () => {
    setUp({}, []);
    expect(await states.after(grab())).toEqual([
      { status: 'none-left' },
      {
        grants: '=5:1799999999993, ledger=8:6:1799999999992:l, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=30, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox: '1-1 f=v',
        tries: 'me=1',
      },
    ]);
    expect((await states.after(grab('me', 2)))[0]).toEqual({ status: 'none-left' });
    expect((await states.after(grab()))[1].tries).toEqual('me=2');
    expect(await states.after(grab())).toEqual([
      { status: 'too-many-tries' },
      {
        grants: '=5:1799999999993, ledger=8:6:1799999999992:l, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=30, buckets=1, endsAtMs=1800000000001, heldCents=100, maxTries=2, startsAtMs=1800000000000, state=open',
        outbox: '1-1 f=v',
        tries: 'me=2',
      },
    ]);
    expect((await states.after(grab('me', 2)))[0]).toEqual({ status: 'none-left' });
    setUp({ maxTries: 0, buckets: 3 }, []);
    expect(await states.after(grab())).toEqual([
      { status: 'empty' },
      {
        grants: '=5:1799999999993, ledger=8:6:1799999999992:l, norm=x, old=9:5:1799999999993',
        meta: 'activity=a@1/1/0, bestCents=30, buckets=3, endsAtMs=1800000000001, heldCents=100, maxTries=0, startsAtMs=1800000000000, state=open',
        outbox: '1-1 f=v',
      },
    ]);
    setUp({ maxTries: 1 }, []);
    expect((await states.after(grab()))[1].tries).toEqual('me=1');
  });

  it('fails if the outbox is lost, and changes nothing', async () => {
    setUp();
    states.put('DEL', 'outbox');
    const before = states.keys();
    expect(await states.after(grab())).toEqual(['error LOSTOUTBOX', before]);
  });

  it('checks permissions and types before the first write', async () => {
    const names = ['XADD outbox', 'LPOP pool', 'HSET grants', 'HSET meta'];
    expect(
      await states.withDenied(
        names,
        () => setUp(),
        () => grab(),
      ),
    ).toEqual(each(names, 'error NOTALLOWED'));
    const keys = ['meta', 'pool', 'grants', 'outbox', 'tries'];
    expect(
      await states.withOtherTypes(
        keys,
        () => setUp(),
        () => grab(),
      ),
    ).toEqual(each(keys, 'error WRONGTYPE'));
  });

  it('read-grant and luckiest: read what was granted', async () => {
    const read = (userId: string) => states.call(readGrant, { userId });
    const luckiest = () => states.call(readLuckiest, {});
    expect(await luckiest()).toEqual({
      grant: { userId: '', packetId: '', amountCents: 0, grantedAtMs: 0 },
      lost: false,
    });
    setUp({ bestUser: 'a', bestPacket: 3, bestAt: 7, bestLost: 1 });
    expect(await luckiest()).toEqual({
      grant: { userId: 'a', packetId: '3', amountCents: 30, grantedAtMs: 7 },
      lost: true,
    });
    expect(await Promise.all(['old', 'ledger', 'none'].map(read))).toEqual([
      { packet: { packetId: '9', amountCents: 5, grantedAtMs: 1799999999993 }, byLedger: false },
      { packet: { packetId: '8', amountCents: 6, grantedAtMs: 1799999999992 }, byLedger: true },
      { byLedger: false },
    ]);
  });
});
