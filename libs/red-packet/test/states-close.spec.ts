import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { closeBucket, compareRefunds, voidGrant } from '../src/activity/activity.scripts';
import { redPacketScripts } from '../src/red-packet.scripts';

type Fields = Readonly<Record<string, string | number>>;

describe('each script of the life of a bucket, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(redPacketScripts);
  const close = (atEnd = 0) => states.call(closeBucket, { atEnd });
  const put = (fields: Fields) => states.put('HSET', 'meta', ...Object.entries(fields).flat());
  const clear = () => {
    for (const name of ['meta', 'pool', 'grants', 'outbox', 'refunds', 'voids']) states.put('DEL', name);
  };

  it('close: refunds one packet', async () => {
    put({ state: 'open', heldCents: 5 });
    states.put('HSET', 'grants', '', '0:0');
    states.put('RPUSH', 'pool', '1:5:5');
    expect(await states.after(close())).toEqual([
      'closed',
      {
        grants: '=0:0',
        meta: `closedAtMs=${NOW}, heldCents=5, refundedCents=5, refundedPackets=1, state=closed`,
        refunds: '1:5:5',
      },
    ]);
  });

  const META = { state: 'closed', refundedCents: 60, refundedPackets: 3 };
  const compare = (last: number, ...entries: string[]) =>
    states.call(compareRefunds, { last, expiresAtMs: 0, entries });
  const setUpRefunds = (fields: Fields = {}) => {
    put({ ...META, ...fields });
    states.put('HSET', 'grants', '', '40:7', 'u', '9:40:7');
    states.put('RPUSH', 'refunds', '1:10:10', '2:20:30', '3:30:60');
  };

  it('compare-refunds: takes paid packets out of the refunds, once', async () => {
    setUpRefunds();
    const half = {
      grants: '=60:7, u=9:40:7',
      meta: 'grantShift=1, refundedCents=40, refundedPackets=2, rowShift=-1, state=closed',
      refunds: '1:10:10, 3:30:60',
      voids: '2=20:0:packet:',
    };
    expect(await states.after(compare(0, '2:20:30'))).toEqual([1, half]);
    // A replay finds nothing, and the last call notes that the bucket was compared.
    const noted = { ...half, meta: `compared=1, ${half.meta}` };
    expect(await states.after(compare(1, '2:20:30'))).toEqual([0, noted]);
    expect(await states.after(compare(1, '1:10:10'))).toEqual([0, noted]);
  });

  it('compare-refunds: changes nothing of a later activity with the same id', async () => {
    setUpRefunds({ expiresAtMs: 9 });
    const before = states.keys();
    expect(await states.after(compare(1, '2:20:30'))).toEqual([0, before]);
  });

  it('compare-refunds: changes nothing of a bucket that is open, and nothing for entries that are damaged', async () => {
    setUpRefunds({ state: 'open' });
    const [, before] = await states.after(compare(1));
    expect(await states.after(compare(1, '2:20:30'))).toEqual([0, before]);
    clear();
    setUpRefunds();
    await expect(compare(1, '2:20:30', '3:x:60')).rejects.toThrow('BADPACKET ARGV[4]');
    states.put('HDEL', 'grants', '');
    await expect(compare(1, '2:20:30')).rejects.toThrow('LOSTGRANTS');
    expect(await states.after(compare(1))).toEqual([
      0,
      {
        grants: 'u=9:40:7',
        meta: 'compared=1, refundedCents=60, refundedPackets=3, state=closed',
        refunds: '1:10:10, 2:20:30, 3:30:60',
      },
    ]);
  });

  it.each([
    ['missing', {}, 0, ['missing', { grants: '=5:7' }]],
    ['closed', { state: 'closed' }, 0, ['closed-before', { grants: '=5:7', meta: 'state=closed' }]],
    ['a draft', { state: 'draft' }, 0, ['draft', { grants: '=5:7', meta: 'state=draft' }]],
    ['a root', { state: 'spread:2' }, 0, ['spread:2', { grants: '=5:7', meta: 'state=spread:2' }]],
    [
      'open, at its end',
      { state: 'open', heldCents: 5, endsAtMs: NOW },
      1,
      [
        'closed',
        { grants: '=5:7', meta: 'closedAtMs=1800000000000, endsAtMs=1800000000000, heldCents=5, state=closed' },
      ],
    ],
    [
      'open, before its end',
      { state: 'open', heldCents: 5, endsAtMs: NOW + 1 },
      1,
      ['not-ended', { grants: '=5:7', meta: 'endsAtMs=1800000000001, heldCents=5, state=open' }],
    ],
    [
      'paused, before its end',
      { state: 'paused', heldCents: 5, endsAtMs: NOW + 1 },
      0,
      [
        'closed',
        { grants: '=5:7', meta: 'closedAtMs=1800000000000, endsAtMs=1800000000001, heldCents=5, state=closed' },
      ],
    ],
  ])('close: a bucket that is %s', async (_, fields, atEnd, expected) => {
    if (Object.keys(fields).length > 0) put(fields);
    states.put('HSET', 'grants', '', '5:7');
    states.clock.set(NOW + 0.5);
    expect(await states.after(close(atEnd))).toEqual(expected);
  });

  it('close: refunds the pool, after packets that were refunded before', async () => {
    const setUp = (refunded: number, heldCents: number, before = 0) => {
      clear();
      put({ state: 'open', heldCents, endsAtMs: NOW, ...(refunded === 0 ? {} : { refundedCents: refunded }) });
      states.put('HSET', 'grants', '', '5:7');
      states.put('RPUSH', 'pool', '3:20:60', '4:10:70', '5:9:79');
      for (let at = 0; at < before; at++) states.put('RPUSH', 'refunds', `r${at}`);
    };
    setUp(0, 44);
    expect(await states.after(close())).toEqual([
      'closed',
      {
        grants: '=5:7',
        meta: 'closedAtMs=1800000000000, endsAtMs=1800000000000, heldCents=44, refundedCents=39, refundedPackets=3, state=closed',
        refunds: '3:20:60, 4:10:70, 5:9:79',
      },
    ]);
    setUp(7, 51, 2);
    expect(await states.after(close())).toEqual([
      'closed',
      {
        grants: '=5:7',
        meta: 'closedAtMs=1800000000000, endsAtMs=1800000000000, heldCents=51, refundedCents=46, refundedPackets=3, state=closed',
        refunds: '3:20:60, 4:10:70, 5:9:79, r0, r1',
      },
    ]);
    setUp(7, 51, 2_001);
    await close();
    const refunds = (states.keys().refunds ?? '').split(', ');
    expect([refunds.length, refunds[3], refunds[1_002], refunds[1_003], refunds[2_003]]).toEqual([
      2004,
      'r0',
      'r999',
      'r1000',
      'r2000',
    ]);
    for (const [refunded, held] of [
      [7, 52],
      [0, 51],
    ] as const) {
      setUp(refunded, held);
      const before = states.keys();
      expect(await states.after(close())).toEqual(['error BADPOOL', before]);
    }
    setUp(0, 39);
    states.put('DEL', 'grants');
    expect((await states.after(close()))[0]).toBe('error BADPOOL');
    setUp(0, 44);
    states.put('LPUSH', 'pool', 'x');
    expect((await states.after(close()))[0]).toBe('error BADPOOL');
    const keys = ['meta', 'pool', 'refunds', 'grants'];
    expect(
      await states.withOtherTypes(
        keys,
        () => setUp(0, 44, 1),
        () => close(),
      ),
    ).toEqual(each(keys, 'error WRONGTYPE'));
  });

  describe('void-grant', () => {
    const run = (paid = '', userId = 'me', packetId = '7') =>
      states.call(voidGrant, { userId, packetId, paid, owner: '' });
    const setUp = (meta: Fields = {}) => {
      clear();
      put({ expiresAtMs: NOW + 900, bestUser: 'me', ...meta });
      states.put('RPUSH', 'refunds', 'r');
      states.put('HSET', 'grants', '', '30:7', 'me', `7:30:${NOW - 5}`, 'ledger', `8:1:${NOW}:l`, 'you', `9:2:${NOW}`);
    };

    it('voids a grant whose packet was paid to another user', async () => {
      setUp();
      expect(await states.after(run())).toEqual([
        'void',
        {
          grants: '=30:7, ledger=8:1:1800000000000:l, you=9:2:1800000000000',
          meta: 'bestLost=1, bestUser=me, expiresAtMs=1800000000900, grantShift=1',
          refunds: 'r',
          voids: '7=30:1799999999995:packet:me',
        },
      ]);
      expect((await states.after(run()))[0]).toEqual('void-before');
      states.put('HSET', 'voids', '9', '1:2:user:x:you');
      expect(await states.after(run('', 'you', '9'))).toEqual([
        'void',
        {
          grants: '=30:7, ledger=8:1:1800000000000:l',
          meta: 'bestLost=1, bestUser=me, expiresAtMs=1800000000900, grantShift=2',
          refunds: 'r',
          voids: '7=30:1799999999995:packet:me, 9=2:1800000000000:packet:you',
        },
      ]);
    });

    it('voids a grant of a user who was paid another packet', async () => {
      setUp({ bestUser: 'other', forgetAtMs: NOW + 700 });
      expect(await states.after(run('5:3:99'))).toEqual([
        'void',
        {
          grants: '=0:7, ledger=8:1:1800000000000:l, me=5:3:99:l, you=9:2:1800000000000',
          meta: 'bestUser=other, expiresAtMs=1800000000900, forgetAtMs=1800000000700, grantShift=-1, refundedCents=30, refundedPackets=1, rowShift=1',
          refunds: 'r, 7:30:0 | 700',
          voids: '7=30:1799999999995:user:me | 700',
        },
      ]);
      setUp({ forgetAtMs: NOW + 700 });
      expect(await states.after(run(''))).toEqual([
        'void',
        {
          grants: '=30:7, ledger=8:1:1800000000000:l, you=9:2:1800000000000',
          meta: 'bestLost=1, bestUser=me, expiresAtMs=1800000000900, forgetAtMs=1800000000700, grantShift=1',
          refunds: 'r',
          voids: '7=30:1799999999995:packet:me | 700',
        },
      ]);
      setUp();
      expect((await states.after(run('5:3:99')))[1]).toEqual({
        grants: '=0:7, ledger=8:1:1800000000000:l, me=5:3:99:l, you=9:2:1800000000000',
        meta: 'bestLost=1, bestUser=me, expiresAtMs=1800000000900, grantShift=-1, refundedCents=30, refundedPackets=1, rowShift=1',
        refunds: 'r, 7:30:0',
        voids: '7=30:1799999999995:user:me',
      });
    });

    it('changes nothing without such a grant', async () => {
      setUp();
      states.put('HSET', 'grants', '', '30:7');
      const before = states.keys();
      for (const call of [
        () => run('', 'none'),
        () => run('', 'me', '8'),
        () => run('', 'ledger', '8'),
        () => run('', '', '30'),
      ]) {
        expect(await states.after(call())).toEqual(['none', before]);
      }
      expect(await states.after(run('x'))).toEqual(['error BADGRANT', before]);
      states.put('HSET', 'grants', '', '29:7');
      expect((await states.after(run()))[0]).toBe('error BADMETA');
      setUp();
      states.put('DEL', 'meta');
      expect((await states.after(run()))[0]).toBe('error BADMETA');
      states.put('HDEL', 'grants', '');
      put({ expiresAtMs: 1 });
      expect((await states.after(run()))[0]).toBe('error BADMETA');
      const keys = ['meta', 'grants', 'voids', 'refunds'];
      expect(
        await states.withOtherTypes(
          keys,
          () => setUp(),
          () => run('5:3:99'),
        ),
      ).toEqual(each(keys, 'error WRONGTYPE'));
    });
  });
});
