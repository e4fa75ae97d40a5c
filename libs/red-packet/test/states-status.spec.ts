import { defineScript } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import { NOW, ScriptStates } from '../../../test/support/script-states';
import { BUCKET_KEYS } from '../src/buckets/bucket-keys';
import { readBucket } from '../src/buckets/bucket.scripts';
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

  describe('status', () => {
    const status = () => states.call(readBucket, {});
    const META = {
      state: 'open',
      expiresAtMs: NOW + 300,
      startsAtMs: NOW,
      endsAtMs: NOW + 1,
      bucket: 0,
      heldCents: 80,
      createdAtMs: 1,
      buckets: 2,
      totalCents: 3,
      packets: 4,
      allPackets: 5,
      sentPackets: 6,
      sentCents: 7,
      receivedPackets: 8,
      receivedCents: 9,
      soldOutMs: 10,
    };
    const setUp = (fields: Fields = {}) => {
      clear();
      put({ ...META, ...fields });
      for (const name of ['tries', 'voids']) put({ a: 1 }, name);
      put({ 'out:12': 1, 'out:3': 1, 'in:4': 1, 'xout:5': 1 }, 'moves');
      put({ '': '12:7', a: 1, b: 2 }, 'grants');
      states.put('RPUSH', 'refunds', 'r', 's');
      states.put('RPUSH', 'pool', '3:20:60', '4:10:70', '5:9:79');
      for (const id of ['1-1', '1-2']) states.put('XADD', 'dead', id, 'f', 'v');
    };

    it('status: reads all of a bucket', async () => {
      expect(await status()).toEqual({
        createdAtMs: 0,
        startsAtMs: 0,
        endsAtMs: 0,
        expiresAtMs: 0,
        buckets: 0,
        totalCents: 0,
        packets: 0,
        allPackets: 0,
        heldCents: 0,
        refundedPackets: 0,
        refundedCents: 0,
        sentPackets: 0,
        sentCents: 0,
        receivedPackets: 0,
        receivedCents: 0,
        soldOutMs: 0,
        closedAtMs: 0,
        forgetAtMs: 0,
        compared: 0,
        state: '',
        pooled: 0,
        pooledCents: 0,
        granted: 0,
        grantedCents: 0,
        openPayouts: 0,
        refundRecords: 0,
        outgoing: [],
        lastGrant: '',
        deadLetters: 0,
        overdue: false,
        unreported: 0,
      });
      setUp();
      const before = states.keys();
      expect(await states.after(status())).toEqual([
        {
          createdAtMs: 1,
          startsAtMs: 1800000000000,
          endsAtMs: 1800000000001,
          expiresAtMs: 1800000000300,
          buckets: 2,
          totalCents: 3,
          packets: 4,
          allPackets: 5,
          heldCents: 80,
          refundedPackets: 0,
          refundedCents: 0,
          sentPackets: 6,
          sentCents: 7,
          receivedPackets: 8,
          receivedCents: 9,
          soldOutMs: 10,
          closedAtMs: 0,
          forgetAtMs: 0,
          compared: 0,
          state: 'open',
          pooled: 3,
          pooledCents: 39,
          granted: 2,
          grantedCents: 12,
          openPayouts: 0,
          refundRecords: 2,
          outgoing: [12, 3],
          lastGrant: '7',
          deadLetters: 2,
          overdue: false,
          unreported: 0,
        },
        {
          dead: '1-1 f=v, 1-2 f=v',
          grants: '=12:7, a=1, b=2',
          meta: 'allPackets=5, bucket=0, buckets=2, createdAtMs=1, endsAtMs=1800000000001, expiresAtMs=1800000000300, heldCents=80, packets=4, receivedCents=9, receivedPackets=8, sentCents=7, sentPackets=6, soldOutMs=10, startsAtMs=1800000000000, state=open, totalCents=3',
          moves: 'in:4=1, out:12=1, out:3=1, xout:5=1',
          pool: '3:20:60, 4:10:70, 5:9:79',
          refunds: 'r, s',
          tries: 'a=1',
          voids: 'a=1',
        },
      ]);
      expect(states.keys()).toEqual(before);
      for (const name of ['grants', 'pool', 'moves', 'refunds']) states.put('DEL', name);
      expect(await status()).toEqual({
        createdAtMs: 1,
        startsAtMs: 1800000000000,
        endsAtMs: 1800000000001,
        expiresAtMs: 1800000000300,
        buckets: 2,
        totalCents: 3,
        packets: 4,
        allPackets: 5,
        heldCents: 80,
        refundedPackets: 0,
        refundedCents: 0,
        sentPackets: 6,
        sentCents: 7,
        receivedPackets: 8,
        receivedCents: 9,
        soldOutMs: 10,
        closedAtMs: 0,
        forgetAtMs: 0,
        compared: 0,
        state: 'open',
        pooled: 0,
        pooledCents: 0,
        granted: 0,
        grantedCents: -1,
        openPayouts: -2,
        refundRecords: 0,
        outgoing: [],
        lastGrant: '',
        deadLetters: 2,
        overdue: false,
        unreported: 0,
      });
      states.put('RPUSH', 'pool', 'x');
      put({ '': '0:0' }, 'grants');
      put({ grantShift: 4 });
      expect(await status()).toMatchObject({ pooledCents: -1, granted: 4, grantedCents: 0 });
    });

    it.each([
      ['before its start', { startsAtMs: NOW + 1 }, 'preheated false 0 2'],
      ['at its end', { endsAtMs: NOW }, 'ended false 0 2'],
      ['paused, before its start', { state: 'paused', startsAtMs: NOW + 1 }, 'paused false 0 2'],
      ['paused, at its end', { state: 'paused', endsAtMs: NOW }, 'ended false 0 2'],
      ['closed, after its end', { state: 'closed', endsAtMs: NOW }, 'closed false 0 2'],
      ['at the end of the retention', { state: 'closed', expiresAtMs: NOW }, 'closed true 0 2'],
      ['before the end of the retention', { state: 'closed', expiresAtMs: NOW + 1 }, 'closed false 0 2'],
      ['with reports to make', { refundedPackets: 5, reportedPackets: 3 }, 'open false 2 2'],
      ['with more reports than refunds', { refundedPackets: 3, reportedPackets: 5 }, 'open false 0 2'],
      ['without reports', { refundedPackets: 3 }, 'open false 0 2'],
      ['with voided grants', { grantShift: -1 }, 'open false 0 1'],
    ])('status: of a bucket %s', async (_, fields, expected) => {
      setUp(fields);
      const { state, overdue, unreported, granted } = (await status()) as Record<string, unknown>;
      expect([state, overdue, unreported, granted].join(' ')).toEqual(expected);
    });

    it.each([
      ['a draft', { state: 'draft' }, NOW + 300],
      ['the root of a draft', { state: 'draft', bucket: -1 }, 0],
      ['a settled bucket', { state: 'closed', forgetAtMs: NOW + 700 }, NOW + 700],
      ['a settled root', { state: 'spread:2', bucket: -1, forgetAtMs: NOW + 700 }, NOW + 700],
      ['an open bucket', {}, 0],
    ])('status: repairs the TTLs of %s', async (_, fields, until) => {
      const names = ['meta', 'pool', 'grants', 'tries', 'moves', 'voids', 'refunds', 'dead'];
      for (const kept of ['voids', 'pool']) {
        setUp(fields);
        states.put('PEXPIRE', kept, 5);
        await status();
        const ttls = names.map((name) => states.put('PTTL', name));
        expect(ttls).toEqual(names.map((name) => (name === kept ? 5 : until === 0 ? -1 : until - NOW)));
      }
    });

    it.each([
      ['that nobody has paid', {}, 7],
      ['of which some are paid', { settledRows: 4 }, 3],
      ['with a grant whose packet the ledger paid to another user', { grantShift: 1 }, 8],
      ['with a grant that became a refund', { grantShift: -1, rowShift: 1 }, 7],
    ])('status: counts the payouts %s', async (_, fields, openPayouts) => {
      setUp(fields);
      // Nine grants, of which two are dead letters.
      put(Object.fromEntries(['c', 'd', 'e', 'f', 'g', 'h', 'i'].map((user) => [user, 1])), 'grants');
      expect(await status()).toMatchObject({ openPayouts, deadLetters: 2 });
    });

    it('status: the grants of a draft and of a root have no cents yet', async () => {
      for (const [state, grantedCents] of [
        ['draft', 0],
        ['spread:2', 0],
        ['open', -1],
      ] as const) {
        setUp({ state });
        states.put('DEL', 'grants');
        expect(await status()).toMatchObject({ granted: 0, grantedCents });
      }
    });

    it('status: of a bucket without a state, and as text', async () => {
      put({ expiresAtMs: 5 });
      expect(await status()).toMatchObject({ state: '', expiresAtMs: 5 });
      setUp();
      const [, fields] = (await states.call(statusText, {})) as [string, string];
      expect(fields).toBe(`1,${NOW},${NOW + 1},${NOW + 300},2,3,4,5,80,0,0,6,7,8,9,10,0,0,0`);
    });
  });
});
