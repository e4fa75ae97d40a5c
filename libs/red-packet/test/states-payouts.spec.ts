import { NOW, ScriptStates } from '../../../test/support/script-states';
import { settleBucket } from '../src/activity/activity.scripts';
import {
  addActivity,
  fixPartitions,
  listActivities,
  pageActivities,
  retireActivity,
} from '../src/activity/list.scripts';
import { readOutboxPage } from '../src/audit/audit.scripts';
import {
  buryPayout,
  dropPayouts,
  dropRows,
  listDead,
  replayPayouts,
  settlePayout,
} from '../src/payouts/payout.scripts';
import { redPacketScripts } from '../src/red-packet.scripts';

type Fields = Readonly<Record<string, string | number>>;

const OWNER = 'a@9/1/0';
const ROW = ['activity', OWNER, 'user', 'u', 'grant', '7:30:5'];
const ROW_TEXT = 'activity=a@9/1/0 user=u grant=7:30:5';
const WHY = { problem: 'no account', attempts: 3, firstSeenMs: 4 };

describe('each script of payouts, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(redPacketScripts);
  const put = (fields: Fields, name = 'meta') => states.put('HSET', name, ...Object.entries(fields).flat());
  const add = (name: string, id: string, ...fields: string[]) => states.put('XADD', name, id, ...fields);
  const settle = (rowId = '1-1', owner = OWNER) =>
    states.call(settlePayout, { rowId, owner, user: 'u', grant: '7:30:5' });
  const bury = (rowId = '1-1', owner = OWNER) => states.call(buryPayout, { rowId, owner, ...WHY });
  const replay = (...ids: string[]) => states.call(replayPayouts, { ids });
  const drop = (...ids: string[]) => states.call(dropPayouts, { ids });
  const setUp = (meta: Fields = { activity: OWNER }) => {
    for (const name of Object.keys(states.keys())) states.put('DEL', name);
    if (Object.keys(meta).length > 0) put(meta);
    add('outbox', '1-1', ...ROW);
    add('outbox', '1-2', ...ROW.with(1, 'b@9/1/0'));
  };

  it('settle-payout: removes a row and counts it, once', async () => {
    setUp();
    const after = { outbox: `1-2 ${ROW_TEXT.replace('a@', 'b@')}`, meta: `activity=${OWNER}, settledRows=1` };
    expect(await states.after(settle())).toEqual([true, after]);
    expect(await states.after(settle())).toEqual([false, after]);
    expect(await states.after(settle('9-9'))).toEqual([false, after]);
  });

  it.each<[string, Fields]>([
    ['is forgotten', {}],
    ['is a later one with this id', { activity: 'a@99/1/0' }],
  ])('settle-payout: removes a row whose activity %s, and counts it nowhere', async (_, meta) => {
    setUp(meta);
    const { meta: before } = states.keys();
    expect(await states.after(settle())).toEqual([
      true,
      { outbox: `1-2 ${ROW_TEXT.replace('a@', 'b@')}`, ...(before !== undefined && { meta: before }) },
    ]);
  });

  it('bury-payout: moves a row to the dead letters, once', async () => {
    setUp();
    states.clock.set(NOW);
    const after = {
      outbox: `1-2 ${ROW_TEXT.replace('a@', 'b@')}`,
      meta: `activity=${OWNER}`,
      dead: `${NOW}-0 error=no account attempts=3 first-seen-ms=4 ${ROW_TEXT}`,
    };
    expect(await states.after(bury())).toEqual(['buried', after]);
    expect(await states.after(bury())).toEqual(['none', after]);
    const fields = { user: 'u', grant: '7:30:5' };
    expect(await states.call(listDead, { after: '0-0', count: 5 })).toEqual({
      newest: `${NOW}-0`,
      rows: [{ entryId: `${NOW}-0`, error: 'no account', attempts: 3, firstSeenAtMs: 4, fields }],
    });
    expect(await states.call(listDead, { after: `${NOW}-0`, count: 5 })).toEqual({ newest: `${NOW}-0`, rows: [] });
  });

  it('bury-payout: leaves the row of an activity that Redis has forgotten', async () => {
    for (const meta of [{}, { activity: 'a@99/1/0' }] as Fields[]) {
      setUp(meta);
      const before = states.keys();
      expect(await states.after(bury())).toEqual(['forgotten', before]);
    }
  });

  it('bury-payout: gives the dead letters of a bucket that is given up its TTL', async () => {
    setUp({ activity: OWNER, forgetAtMs: NOW + 700 });
    await bury();
    expect(String(states.keys().dead)).toMatch(/ \| 700$/);
  });

  it('replay-payouts: moves dead letters back as new rows, once, and only if the outbox exists', async () => {
    setUp();
    await bury();
    states.clock.set(NOW + 5);
    const id = `${NOW}-0`;
    expect(await states.after(replay(id, '9-9'))).toEqual([
      1,
      {
        outbox: `1-2 ${ROW_TEXT.replace('a@', 'b@')}, ${NOW + 5}-0 ${ROW_TEXT}`,
        meta: `activity=${OWNER}`,
        dead: '',
      },
    ]);
    expect(await replay(id)).toBe(0);
    setUp();
    await bury();
    states.put('DEL', 'outbox');
    const before = states.keys();
    const dead = String(before.dead).split(' ')[0] ?? '';
    expect(await states.after(replay(dead))).toEqual(['error LOSTOUTBOX', before]);
  });

  it('drop-payouts: deletes dead letters and counts them as settled, once', async () => {
    setUp();
    await bury();
    const dead = String(states.keys().dead).split(' ')[0] ?? '';
    expect(await drop(dead, '9-9')).toBe(1);
    expect(states.keys()).toMatchObject({ meta: `activity=${OWNER}, settledRows=1`, dead: '' });
    expect(await drop(dead)).toBe(0);
    expect(states.keys()).toMatchObject({ meta: `activity=${OWNER}, settledRows=1` });
    add('dead', `${NOW + 9}-1`, 'error', 'x');
    states.put('DEL', 'meta');
    expect(await drop(`${NOW + 9}-1`)).toBe(1);
    expect(states.keys()).not.toHaveProperty('meta');
  });

  it('drop-rows and outbox-page: find the rows of one bucket, page by page', async () => {
    setUp();
    for (const id of ['1-3', '1-4']) add('outbox', id, ...ROW);
    add('outbox', '1-5', 'note', 'x');
    const page = (after: string, count: number) => states.call(readOutboxPage, { owner: OWNER, after, count });
    const row = { userId: 'u', packetId: '7', amountCents: 30 };
    expect(await page('0-0', 2)).toEqual({ last: '1-2', rows: [row] });
    expect(await page('1-2', 2)).toEqual({ last: '1-4', rows: [row, row] });
    expect(await page('1-4', 2)).toEqual({ last: '', rows: [] });
    const dropped = (after: string) => states.call(dropRows, { owner: OWNER, after, count: 2 });
    expect(await dropped('0-0')).toBe('1-2');
    expect(states.keys().meta).toBe(`activity=${OWNER}, settledRows=1`);
    expect(await dropped('1-2')).toBe('1-4');
    expect(await dropped('1-4')).toBe('');
    expect(states.keys()).toEqual({
      meta: `activity=${OWNER}, settledRows=3`,
      outbox: `1-2 ${ROW_TEXT.replace('a@', 'b@')}, 1-5 note=x`,
    });
    setUp({});
    expect(await dropped('0-0')).toBe('1-2');
    expect(states.keys()).not.toHaveProperty('meta');
  });

  describe('settle-bucket', () => {
    const run = (giveUp = 0, expiresAtMs = NOW + 300) => states.call(settleBucket, { giveUp, expiresAtMs });
    const paid = (meta: Fields = {}) => {
      setUp({ state: 'closed', endsAtMs: 1, expiresAtMs: NOW + 300, bucket: 0, keepMs: 500, settledRows: 2, ...meta });
      put({ '': '60:5', u: '7:30:5', v: '8:30:5' }, 'grants');
      for (const name of ['tries', 'voids', 'moves']) put({ a: 1 }, name);
      states.put('RPUSH', 'refunds', 'r');
    };

    it('sets the TTL of all keys but the outbox, once', async () => {
      paid();
      expect(await run()).toBe('settled');
      const keys = states.keys();
      for (const name of ['meta', 'grants', 'tries', 'voids', 'moves', 'refunds'])
        expect(keys[name]).toMatch(/ \| 500$/);
      expect(keys.outbox).not.toContain(' | ');
      expect(await run()).toBe('settled-before');
    });

    it.each<[string, Fields, string]>([
      ['one of two payouts is open', { settledRows: 1 }, 'owed'],
      ['no payout was settled', { settledRows: 0 }, 'owed'],
      ['a payout was settled that no grant has', { settledRows: 3 }, 'owed'],
      ['a grant became a refund before it was paid', { grantShift: -1, rowShift: 1, settledRows: 1 }, 'owed'],
      ['a grant became a refund, and its row is gone', { grantShift: -1, rowShift: 1 }, 'settled'],
      ['a packet was granted twice, and both rows are gone', { grantShift: 1, settledRows: 3 }, 'settled'],
      ['it is open', { state: 'open', endsAtMs: NOW + 1 }, 'owed'],
      ['it has ended without packets', { state: 'open' }, 'settled'],
      ['a refund is not reported', { refundedPackets: 2, reportedPackets: 1 }, 'owed'],
      ['all refunds are reported', { refundedPackets: 2, reportedPackets: 2 }, 'settled'],
      ['it is a draft', { state: 'draft' }, 'missing'],
    ])('if %s', async (_, meta, status) => {
      paid(meta);
      expect(await run()).toBe(status);
    });

    it.each(['pool', 'dead', 'moves'])('sees what is owed by the key %s', async (name) => {
      paid(name === 'pool' ? { state: 'open' } : {});
      if (name === 'pool') states.put('RPUSH', 'pool', '1:1:1');
      if (name === 'dead') add('dead', '1-1', 'f', 'v');
      if (name === 'moves') put({ 'out:1': 'x' }, 'moves');
      expect(await run()).toBe('owed');
      expect(String(states.keys().meta)).not.toContain(' | ');
      expect(await run(1)).toBe('settled');
    });

    it('keeps a bucket whose grants are lost, unless none of its payouts was settled', async () => {
      paid();
      states.put('DEL', 'grants');
      expect(await run()).toBe('owed');
      paid({ settledRows: 0 });
      states.put('DEL', 'grants');
      // The rows are still in the outbox, which has no TTL.
      expect(await run()).toBe('settled');
    });

    it.each([0, 1])('leaves a later activity with the same id alone, with giveUp: %i', async (giveUp) => {
      paid();
      expect(await states.after(run(giveUp, NOW + 299))).toEqual(['owed', states.keys()]);
      expect(await run(giveUp)).toBe('settled');
    });

    it('keeps a root a minute longer', async () => {
      setUp({ state: 'spread:2', endsAtMs: NOW + 9, expiresAtMs: NOW + 300, bucket: -1, keepMs: 500 });
      expect(await run()).toBe('settled');
      expect(states.keys().meta).toMatch(/ \| 60500$/);
    });
  });

  describe('the list of activities', () => {
    const adds = (activityId: string, partitions = 16, fromMs = 0) =>
      states.call(addActivity, { activityId, partitions, retentionMs: 1_000, fromMs });
    const retire = (activityId: string, keepMs: number) => states.call(retireActivity, { activityId, keepMs });
    const all = () => states.call(listActivities, {});
    const page = (beforeMs = 0, beforeId = '', limit = 2) => states.call(pageActivities, { beforeMs, beforeId, limit });
    const fix = (partitions: number) => states.call(fixPartitions, { partitions });

    beforeEach(() => {
      for (const name of Object.keys(states.keys())) states.put('DEL', name);
      states.clock.set(NOW);
    });

    it('has each activity once, by the end of its retention', async () => {
      await adds('late', 16, NOW + 5_000);
      await adds('soon');
      await adds('late');
      expect(await all()).toEqual(['soon', 'late']);
    });

    it('loses an activity that Redis has forgotten, and none that may owe something', async () => {
      await adds('settled');
      await adds('owing');
      expect([await retire('settled', 90_000), await retire('none', 0)]).toEqual([true, false]);
      expect(await all()).toEqual(['owing', 'settled']);
      states.clock.set(NOW + 90_001);
      expect(await all()).toEqual(['owing']);
      await retire('owing', 0);
      expect(await all()).toEqual([]);
    });

    it('is read in pages, the latest end first, which stay right while activities come and go', async () => {
      for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) await adds(name, 16, NOW + 1_000 * Math.min(i, 2));
      const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((activityId, i) => {
        return { activityId, atMs: NOW + 1_000 * Math.min(i, 2) + 61_000 };
      });
      expect(await page()).toEqual({ total: 4, items: [d, c] });
      await adds('later', 16, NOW + 9_000);
      expect(await page(c?.atMs, 'c')).toEqual({ total: 5, items: [b, a] });
      expect(await page(d?.atMs, 'd', 1)).toEqual({ total: 5, items: [c] });
      // Without `d`, those with its time are listed again: none is left out.
      await retire('d', 0);
      states.clock.set(NOW + 63_001);
      expect(await page(d?.atMs, 'd', 1)).toEqual({ total: 4, items: [c] });
      expect(await page(a?.atMs, 'a')).toEqual({ total: 4, items: [] });
    });

    it('keeps an activity that is created again', async () => {
      await adds('again');
      await retire('again', 0);
      await adds('again', 16, NOW + 50_000);
      states.clock.set(NOW + 80_000);
      expect(await all()).toEqual(['again']);
    });

    it('keeps the number of partitions while it has an activity', async () => {
      expect([await fix(16), await fix(8), await adds('a', 8), await fix(16), await adds('b', 16)]).toEqual([
        16, 8, 8, 8, 8,
      ]);
      expect(await all()).toEqual(['a']);
      await retire('a', 0);
      states.clock.set(NOW + 61_001);
      expect(await adds('b', 16)).toBe(16);
      expect(await all()).toEqual(['b']);
    });
  });
});
