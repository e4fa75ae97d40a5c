import { defineScript } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import { NOW, ScriptStates } from '../../../test/support/script-states';
import { settleBucket } from '../src/activity/activity.scripts';
import {
  indexActivity,
  listActivities,
  listWoken,
  scanActivities,
  unlistActivity,
  wakeActivities,
} from '../src/activity/index.scripts';
import { readRecords } from '../src/activity/results.scripts';
import { readHashPage, readListPage, readOutboxPage } from '../src/audit/audit.scripts';
import { BUCKET_KEYS } from '../src/buckets/bucket-keys';
import { redPacketScripts } from '../src/red-packet.scripts';
import { statusLua } from '../src/scripts/generated';

const statusText = defineScript({
  name: 'states.status',
  ...statusLua,
  keys: [...BUCKET_KEYS, 'dead'],
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

  describe('settle-bucket', () => {
    const settle = (giveUp = 0) => states.call(settleBucket, { giveUp });
    const META = { state: 'closed', endsAtMs: NOW + 10, expiresAtMs: NOW + 300, bucket: 0, keepMs: 200 };
    const OTHERS = ['tries', 'voids', 'takes', 'attempts'];
    const setUp = (fields: Fields = {}) => {
      clear();
      put({ ...META, ...fields });
      for (const name of [...OTHERS, 'moves']) put({ a: 1 }, name);
      for (const name of ['sessions', 'due']) states.put('ZADD', name, 1, 'a');
      put({ '': 1 }, 'grants');
      states.put('RPUSH', 'refunds', 'r');
      for (const name of ['outbox', 'dead']) {
        states.put('XADD', name, '1-1', 'f', 'v');
        states.put('XDEL', name, '1-1');
      }
    };

    it('sets the TTL of all keys, once', async () => {
      expect(await states.after(settle())).toEqual(['missing', {}]);
      setUp();
      states.put('RPUSH', 'pool', '1:1:1');
      states.clock.set(NOW + 0.5);
      expect(await states.after(settle())).toEqual([
        'settled',
        {
          attempts: 'a=1 | 300',
          dead: ' | 300',
          due: 'a@1 | 300',
          grants: '=1 | 300',
          meta: 'bucket=0, endsAtMs=1800000000010, expiresAtMs=1800000000300, forgetAtMs=1800000000300, keepMs=200, state=closed | 300',
          moves: 'a=1 | 300',
          outbox: ' | 300',
          pool: '1:1:1 | 300',
          refunds: 'r | 300',
          sessions: 'a@1 | 300',
          takes: 'a=1 | 300',
          tries: 'a=1 | 300',
          voids: 'a=1 | 300',
        },
      ]);
      expect((await states.after(settle()))[0]).toEqual('settled-before');
    });

    it.each([
      ['that is a draft', { state: 'draft' }, ['missing - ', 'settled 300 1800000000300']],
      ['that is open', { state: 'open' }, ['owed - ', 'settled 300 1800000000300']],
      [
        'that ends now',
        { state: 'open', endsAtMs: NOW },
        ['settled 300 1800000000300', 'settled-before 300 1800000000300'],
      ],
      [
        'that ended',
        { state: 'paused', endsAtMs: NOW - 1 },
        ['settled 300 1800000000300', 'settled-before 300 1800000000300'],
      ],
      [
        'that is a root',
        { state: 'spread:2', bucket: -1 },
        ['settled 60300 1800000060300', 'settled-before 60300 1800000060300'],
      ],
      ['that is kept longer', { keepMs: 301 }, ['settled 301 1800000000301', 'settled-before 301 1800000000301']],
      [
        'that has reports to make',
        { refundedPackets: 3, reportedPackets: 2 },
        ['owed - ', 'settled 300 1800000000300'],
      ],
      [
        'that has reported',
        { refundedPackets: 3, reportedPackets: 3 },
        ['settled 300 1800000000300', 'settled-before 300 1800000000300'],
      ],
      [
        'that has nothing to report',
        { reportedPackets: 0 },
        ['settled 300 1800000000300', 'settled-before 300 1800000000300'],
      ],
      ['that is settled', { forgetAtMs: 5 }, ['settled-before - 5', 'settled-before - 5']],
    ])('a bucket %s', async (_, fields, expected) => {
      setUp(fields);
      const short = async (giveUp: number) => {
        const [reply, keys] = await states.after(settle(giveUp));
        return [reply, keys.meta?.split(' | ')[1] ?? '-', states.put('HGET', 'meta', 'forgetAtMs')].join(' ');
      };
      expect([await short(0), await short(1)]).toEqual(expected);
    });

    it('settles a closed bucket whose end is lost', async () => {
      setUp();
      states.put('HDEL', 'meta', 'endsAtMs');
      expect(await settle()).toBe('settled');
    });

    it('owes packets in the pool, payouts, dead letters and transfers', async () => {
      for (const [command, ...args] of [
        ['RPUSH', 'pool', '1:1:1'],
        ['XADD', 'outbox', '2-1', 'f', 'v'],
        ['XADD', 'dead', '2-1', 'f', 'v'],
        ['HSET', 'moves', 'out:2', 'x'],
      ] as [string, string, ...string[]][]) {
        setUp({ state: 'open', endsAtMs: NOW });
        states.put(command, ...args);
        expect(await settle()).toBe('owed');
        expect(await settle(1)).toBe('settled');
      }
      setUp();
      put({ 'xout:2': 'x', zlast: 1 }, 'moves');
      expect(await settle()).toBe('settled');
      setUp();
      put({ 'out:2': 'x', zlast: 1 }, 'moves');
      expect(await settle()).toBe('owed');
    });
  });

  describe('pages', () => {
    it('list-page, hash-page and outbox-page: read a part', async () => {
      states.put('RPUSH', 'packets', 'a', 'b', 'c', 'd');
      expect(await states.call(readListPage, { from: 1, count: 2 })).toEqual(['b', 'c']);
      for (let at = 0; at < 300; at++) put({ [`f${at}`]: `${at}:7:8` }, 'hash');
      const first = (await states.call(readHashPage, { cursor: '0', count: 10 })) as {
        cursor: string;
        fields: unknown[];
      };
      expect(first.cursor).not.toBe('0');
      expect(first.fields.length).toBeLessThan(100);
      const second = (await states.call(readRecords, { cursor: first.cursor, count: 500 })) as {
        cursor: string;
        records: { userId: string; amountCents: number }[];
      };
      expect([second.cursor, second.records.length]).toEqual(['0', 300 - first.fields.length]);
      expect(second.records[0]).toMatchObject({ amountCents: 7, grantedAtMs: 8 });
      states.put('XADD', 'outbox', '1-1', 'user', 'u', 'packet', 'p', 'cents', 5, 'at', 6);
      states.put('XADD', 'outbox', '1-2', 'x', 'y');
      states.put('XADD', 'outbox', '1-3', 'cents', 7);
      expect(await states.call(readOutboxPage, { after: '0-0', count: 2 })).toEqual([
        { entryId: '1-1', userId: 'u', packetId: 'p', amountCents: 5 },
        { entryId: '1-2', userId: '', packetId: '', amountCents: 0 },
      ]);
      expect(await states.call(readOutboxPage, { after: '1-2', count: 2 })).toEqual([
        { entryId: '1-3', userId: '', packetId: '', amountCents: 7 },
      ]);
    });

    it('index: lists activities until their retention is over', async () => {
      const index = (activityId: string, fromMs: number) =>
        states.call(indexActivity, { activityId, retentionMs: 500, fromMs });
      const unlist = (activityId: string) => states.call(unlistActivity, { activityId });
      states.clock.set(NOW + 0.9);
      expect(await states.after(index('a', 0))).toEqual([1, { index: 'a@1800000060500' }]);
      expect(await states.after(index('b', NOW + 30))).toEqual([2, { index: 'a@1800000060500, b@1800000060530' }]);
      expect(await states.after(index('b', NOW + 10))).toEqual([2, { index: 'a@1800000060500, b@1800000060530' }]);
      expect(await states.call(listActivities, {})).toEqual(['a', 'b']);
      expect(await states.call(scanActivities, { cursor: '0', count: 5 })).toEqual({ cursor: '0', ids: ['a', 'b'] });
      for (let at = 0; at < 300; at++) states.put('ZADD', 'index', at, `id${at}`);
      const page = (await states.call(scanActivities, { cursor: '0', count: 5 })) as { cursor: string; ids: string[] };
      expect(page.cursor).not.toBe('0');
      expect(page.ids.length).toBeLessThan(100);
      const rest = (await states.call(scanActivities, { cursor: page.cursor, count: 500 })) as { ids: string[] };
      expect(rest.ids.length).toBe(302 - page.ids.length);
      states.clock.set(NOW + 999.5);
      await index('late', 0);
      expect(states.put('ZSCORE', 'index', 'late')).toBe(String(NOW + 999 + 60_500));
      states.clock.set(NOW + 60_499);
      expect(await unlist('a')).toBe(false);
      states.clock.set(NOW + 60_500);
      expect([await unlist('b'), await unlist('none'), await unlist('a'), await unlist('a')]).toEqual([
        false,
        false,
        true,
        false,
      ]);
    });

    it('wake: gives each activity a higher score', async () => {
      const wake = (...activityIds: string[]) => states.call(wakeActivities, { activityIds });
      const list = (after: number, count = 9) => states.call(listWoken, { after, count });
      expect(await list(0)).toEqual({ lost: false, last: 0, ids: [] });
      expect(await list(1)).toEqual({ lost: true, last: 0, ids: [] });
      states.clock.set(NOW + 0.9);
      expect(await states.after(wake('a', 'b'))).toEqual([2, { woken: 'a@1800000000001, b@1800000000002 | 86400000' }]);
      expect(await states.after(wake('a', 'c'))).toEqual([
        2,
        { woken: 'b@1800000000002, a@1800000000004, c@1800000000005 | 86400000' },
      ]);
      states.clock.set(NOW + 2_000);
      expect(await states.after(wake('d'))).toEqual([
        1,
        { woken: 'b@1800000000002, a@1800000000004, c@1800000000005, d@1800000002001 | 86400000' },
      ]);
      for (const [after, count] of [
        [0, 2],
        [NOW + 2, 9],
        [NOW + 2_001, 9],
        [NOW + 2_002, 9],
      ] as const) {
        expect(await list(after, count)).toMatchObject({ lost: after === NOW + 2_002 });
      }
      expect([await list(0, 2), await list(NOW + 2), await list(NOW + 2_001), await list(NOW + 2_002)]).toEqual([
        { lost: false, last: 1800000000004, ids: ['b', 'a'] },
        { lost: false, last: 1800000002001, ids: ['a', 'c', 'd'] },
        { lost: false, last: 1800000002001, ids: [] },
        { lost: true, last: 1800000002001, ids: [] },
      ]);
    });

    it('wake: keeps 10,000 activities', async () => {
      for (let at = 0; at < 9_999; at++) states.put('ZADD', 'woken', at, `id${at}`);
      await states.call(wakeActivities, { activityIds: ['a', 'b', 'c'] });
      expect([
        states.put('ZCARD', 'woken'),
        states.put('ZSCORE', 'woken', 'id2'),
        states.put('ZSCORE', 'woken', 'id1'),
      ]).toEqual([10000, '2', null]);
    });
  });
});
