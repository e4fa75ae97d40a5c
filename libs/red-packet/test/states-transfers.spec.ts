import { defineScript } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import { each, NOW, NOW_US, ScriptStates } from '../../../test/support/script-states';
import { BUCKET_KEYS } from '../src/buckets/bucket-keys';
import { confirmTransfer, receivePackets, sendPackets } from '../src/buckets/bucket.scripts';
import { redPacketScripts } from '../src/red-packet.scripts';
import { statusLua } from '../src/scripts/generated';

const statusText = defineScript({
  name: 'states.status',
  ...statusLua,
  keys: BUCKET_KEYS,
  args: {},
  flags: FREES_MEMORY,
  reply: (reply: unknown) => reply,
});

type Fields = Readonly<Record<string, string | number>>;

describe('each script of buckets, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates([...redPacketScripts, statusText]);
  const put = (fields: Fields, name = 'meta') => states.put('HSET', name, ...Object.entries(fields).flat());
  const clear = () => {
    for (const name of Object.keys(states.keys())) states.put('DEL', name);
  };

  describe('send-packets', () => {
    const send = (most = 9, restMs = 500) => states.call(sendPackets, { to: 3, most, restMs });
    const setUp = (meta: Fields = {}, moves: Fields = {}, pool = ['1:5:5', '2:6:11', '3:7:18', '4:8:26', '5:9:35']) => {
      clear();
      put({ state: 'open', heldCents: 40, ...meta });
      if (pool.length > 0) states.put('RPUSH', 'pool', ...pool);
      if (Object.keys(moves).length > 0) put(moves, 'moves');
    };

    it('moves half of the pool, and returns a replay the record', async () => {
      setUp();
      states.clock.set(NOW + 0.25);
      expect(await states.after(send())).toEqual([
        { status: 'sent', sent: { sequence: '1800000000000250', packets: ['3:7', '4:8', '5:9'], expiresAtMs: '' } },
        {
          meta: 'heldCents=16, sentCents=24, sentPackets=3, state=open',
          moves: 'out:3=1800000000000250|3:7,4:8,5:9, sequence=1800000000000250',
          pool: '1:5:5, 2:6:11',
        },
      ]);
      expect(await states.after(send())).toEqual([
        { status: 'sent', sent: { sequence: '1800000000000250', packets: ['3:7', '4:8', '5:9'], expiresAtMs: '' } },
        {
          meta: 'heldCents=16, sentCents=24, sentPackets=3, state=open',
          moves: 'out:3=1800000000000250|3:7,4:8,5:9, sequence=1800000000000250',
          pool: '1:5:5, 2:6:11',
        },
      ]);
      setUp({ state: 'paused', heldCents: 17, expiresAtMs: 77 }, { at: NOW - 500, sequence: NOW_US + 250 });
      expect(await states.after(send(2))).toEqual([
        { status: 'sent', sent: { sequence: '1800000000000251', packets: ['4:8', '5:9'], expiresAtMs: '77' } },
        {
          meta: 'expiresAtMs=77, heldCents=0, sentCents=17, sentPackets=2, state=paused',
          moves: 'at=1799999999500, out:3=1800000000000251|4:8,5:9, sequence=1800000000000251',
          pool: '1:5:5, 2:6:11, 3:7:18',
        },
      ]);
      setUp({}, { at: NOW + 5, sequence: NOW_US - 1 }, ['1:5:5']);
      expect(await states.after(send())).toEqual([
        { status: 'sent', sent: { sequence: '1800000000000250', packets: ['1:5'], expiresAtMs: '' } },
        {
          meta: 'heldCents=35, sentCents=5, sentPackets=1, state=open',
          moves: 'at=1800000000005, out:3=1800000000000250|1:5, sequence=1800000000000250',
        },
      ]);
      setUp({}, { at: NOW - 499 });
      expect(await states.after(send(1))).toEqual([
        { status: 'resting' },
        { meta: 'heldCents=40, state=open', moves: 'at=1799999999501', pool: '1:5:5, 2:6:11, 3:7:18, 4:8:26, 5:9:35' },
      ]);
      setUp({}, { at: NOW + 0 });
      expect((await states.after(send(1)))[0]).toEqual({ status: 'resting' });
    });

    it.each([
      ['it is closed', { state: 'closed' }, {}, undefined, 1],
      ['it is a draft', { state: 'draft' }, {}, undefined, 1],
      ['it is empty', {}, {}, [], 1],
      ['it shall send nothing', {}, {}, undefined, 0],
    ])('moves nothing if %s', async (_, meta, moves, pool, most) => {
      setUp(meta, moves, pool);
      const before = states.keys();
      expect(await states.after(send(most))).toEqual([{ status: 'nothing', sent: undefined }, before]);
    });

    it('refuses wrong packets, and fewer cents than it has to move', async () => {
      setUp({}, {}, ['1:5:5', '2:x:11']);
      expect((await states.after(send()))[0]).toBe('error BADPACKET');
      setUp({ heldCents: 23 });
      const before = states.keys();
      expect(await states.after(send())).toEqual(['error BADMETA', before]);
      const keys = ['meta', 'pool', 'moves'];
      expect(
        await states.withOtherTypes(
          keys,
          () => setUp(),
          () => send(),
        ),
      ).toEqual(each(keys, 'error WRONGTYPE'));
    });

    it('moves no more than 500 packets', async () => {
      const pool = Array.from({ length: 1_100 }, (_, at) => `${at}:1:${at + 1}`);
      setUp({ heldCents: 2_000 }, {}, pool);
      await send(600);
      expect([states.put('LLEN', 'pool'), states.put('HGET', 'meta', 'heldCents')]).toEqual([600, '1500']);
    });
  });

  describe('receive-packets', () => {
    const receive = (packets: readonly string[] = ['6:10', '7:11'], sequence = '100', expiresAtMs = '') =>
      states.call(receivePackets, { from: 4, sequence, expiresAtMs, packets });

    it('appends packets to the pool, once', async () => {
      expect(await states.after(receive())).toEqual(['missing', {}]);
      put({ state: 'draft', heldCents: 5 });
      expect((await states.after(receive()))[0]).toEqual('missing');
      put({ state: 'open' });
      states.clock.set(NOW + 0.5);
      expect(await states.after(receive())).toEqual([
        'received',
        {
          meta: 'heldCents=26, receivedCents=21, receivedPackets=2, state=open',
          moves: 'at=1800000000000, in:4=100',
          pool: '6:10:10, 7:11:21',
        },
      ]);
      expect((await states.after(receive()))[0]).toEqual('received-before');
      expect((await states.after(receive(['8:1'], '99')))[0]).toEqual('received-before');
      expect(await states.after(receive(['8:1'], '101'))).toEqual([
        'received',
        {
          meta: 'heldCents=27, receivedCents=22, receivedPackets=3, state=open',
          moves: 'at=1800000000000, in:4=101',
          pool: '6:10:10, 7:11:21, 8:1:22',
        },
      ]);
    });

    it('receives no packets of an earlier activity with the same id', async () => {
      put({ state: 'open', expiresAtMs: 5 });
      const before = states.keys();
      expect(await states.after(receive(['6:10'], '100', '4'))).toEqual(['missing', before]);
      expect((await states.after(receive(['6:10'], '100', '5')))[0]).toEqual('received');
    });

    it('appends packets to the refunds of a closed bucket', async () => {
      put({ state: 'closed', heldCents: 5 });
      expect(await states.after(receive())).toEqual([
        'received',
        {
          meta: 'heldCents=26, receivedCents=21, receivedPackets=2, refundedCents=21, refundedPackets=2, state=closed',
          moves: 'at=1800000000000, in:4=100',
          refunds: '6:10:10, 7:11:21',
        },
      ]);
    });

    it('refuses wrong packets, and more cents than can be counted', async () => {
      const setUp = () => {
        put({ state: 'open' });
        states.put('RPUSH', 'pool', '1:1:9007199254740989');
        states.put('RPUSH', 'refunds', 'r');
      };
      setUp();
      const before = states.keys();
      for (const packets of [['6:0'], ['x'], ['6']]) {
        expect(await states.after(receive(packets))).toEqual(['error BADPACKET', before]);
      }
      await expect(receive(['6:1', 'x'])).rejects.toThrow(/ARGV\[5\] is/);
      expect(await states.after(receive(['6:3']))).toEqual(['error BADSUM', before]);
      expect((await states.after(receive(['6:2'])))[1]).toEqual({
        meta: 'heldCents=2, receivedCents=2, receivedPackets=1, state=open',
        moves: 'at=1800000000000, in:4=100',
        pool: '1:1:9007199254740989, 6:2:9007199254740991',
        refunds: 'r',
      });
      const keys = ['meta', 'pool', 'moves', 'refunds'];
      expect(await states.withOtherTypes(keys, setUp, () => receive(['6:1']))).toEqual(each(keys, 'error WRONGTYPE'));
    });

    it('confirm-transfer: deletes the record of this transfer', async () => {
      const confirm = (to: number, sequence: string) => states.call(confirmTransfer, { to, sequence });
      put({ 'out:3': '77|1:2', 'out:4': '77|5:6', other: 1 }, 'moves');
      expect([await confirm(5, '77'), await confirm(3, '7'), await confirm(3, '78')]).toEqual([false, false, false]);
      expect(await states.after(confirm(3, '77'))).toEqual([true, { moves: 'other=1, out:4=77|5:6' }]);
      expect(await confirm(3, '77')).toBe(false);
    });
  });
});
