import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import {
  beginActivity,
  checkPermissions,
  fillPool,
  noteReport,
  openActivity,
  nextDecision,
  setPause,
} from '../src/activity/activity.scripts';
import { redPacketScripts } from '../src/red-packet.scripts';

type Fields = Readonly<Record<string, string | number>>;

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
      encodedId: 'a',
      ...args,
    });
  const fill = (chunk: readonly string[], offset = 0) => states.call(fillPool, { offset, chunk });
  const open = () => states.call(openActivity, { group: 'payouts' });
  const pause = (state: string, decision = '') => states.call(setPause, { state, decision });
  const report = (packets: number, expiresAtMs = 0) => states.call(noteReport, { packets, expiresAtMs });
  const put = (fields: Fields) => states.put('HSET', 'meta', ...Object.entries(fields).flat());
  const clear = () => {
    for (const name of ['meta', 'pool', 'grants', 'outbox', 'refunds', 'voids']) states.put('DEL', name);
  };

  it('fill: appends packets to the pool of a draft', async () => {
    expect(await states.after(fill(['1:1:1']))).toEqual([{ status: 'closed', length: 0 }, {}]);
    await begin();
    expect(await states.after(fill(['1:30:30', '2:1:31']))).toEqual([
      { status: 'filled', length: 2 },
      {
        meta: 'activity=a@1800000001100/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000100, expiresAtMs=1800000001100, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=draft, totalCents=100 | 1100',
        pool: '1:30:30, 2:1:31 | 1100',
      },
    ]);
    expect((await states.after(fill(['1:30:30', '2:20:50'])))[0]).toEqual({ status: 'elsewhere', length: 2 });
    const before = states.keys();
    for (const [packet, code] of [
      ['3:10:42', 'BADPACKET'],
      ['3:0:31', 'BADPACKET'],
      ['x', 'BADPACKET'],
      ['3:70:101', 'BADCHUNK'],
    ] as const) {
      expect(await states.after(fill([packet], 2))).toEqual([`error ${code}`, before]);
    }
    await expect(fill(['3:1:32', 'x'], 2)).rejects.toThrow(/ARGV\[3\] is/);
    await expect(fill(['3:1:32', '4:1:34'], 2)).rejects.toThrow(/ARGV\[3\] differs/);
    expect(await states.after(fill(['3:1:32', '4:1:33'], 2))).toEqual(['error BADCHUNK', before]);
    expect(await states.after(fill([], 2))).toEqual(['error BADCHUNK', before]);
    expect(await states.after(fill(['3:69:100'], 2))).toEqual([
      { status: 'filled', length: 3 },
      {
        meta: 'activity=a@1800000001100/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000100, expiresAtMs=1800000001100, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=draft, totalCents=100 | 1100',
        pool: '1:30:30, 2:1:31, 3:69:100 | 1100',
      },
    ]);
    states.put('RPUSH', 'pool', 'x');
    expect((await states.after(fill(['4:1:101'], 4)))[0]).toBe('error BADPACKET');
    put({ state: 'open' });
    expect((await states.after(fill(['4:1:101'], 3)))[0]).toEqual({ status: 'closed', length: 4 });
  });

  it('fill: appends 1,000 packets in a call', async () => {
    await begin({ packets: 2_000, totalCents: 2_000 });
    const chunk = Array.from({ length: 1_001 }, (_, at) => `${at}:1:${at + 1}`);
    expect((await states.after(fill(chunk)))[0]).toBe('error BADCHUNK');
    expect(await fill(chunk.slice(0, 1_000))).toEqual({ status: 'filled', length: 1_000 });
  });

  it('open: opens a draft whose pool is complete', async () => {
    expect(await states.after(open())).toEqual(['missing', {}]);
    await begin();
    expect(await open()).toBe('incomplete');
    await fill(['1:30:30', '2:30:60', '3:39:99']);
    expect(await open()).toBe('incomplete');
    states.put('LSET', 'pool', -1, '3:40:100');
    expect(await states.after(open())).toEqual([
      'opened',
      {
        grants: '=0:0',
        meta: 'activity=a@1800000001100/4/2, allPackets=9, bestCents=0, bucket=2, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000100, expiresAtMs=1800000001100, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=open, totalCents=100',
        outbox: '[payouts after 0-0]',
        pool: '1:30:30, 2:30:60, 3:40:100',
      },
    ]);
    put({ state: 'paused' });
    expect(await open()).toBe('open');
    clear();
    await begin({ bucket: -1 });
    expect(await states.after(open())).toEqual([
      'opened',
      {
        meta: 'activity=a@1800000001100/4/-1, allPackets=9, bestCents=0, bucket=-1, buckets=4, createdAtMs=1800000000000, endsAtMs=1800000000100, expiresAtMs=1800000001100, fingerprint=print, heldCents=100, keepMs=1000, maxTries=5, packets=3, seed=seed, soldOutMs=6, startsAtMs=1800000000050, state=spread:4, totalCents=100',
      },
    ]);
  });

  it('open: opens again what was opened by half', async () => {
    await begin();
    await fill(['1:30:30', '2:30:60', '3:40:100']);
    await open();
    put({ state: 'draft' });
    expect(await open()).toBe('opened');
    const setUp = () => {
      put({ state: 'draft', packets: 1, totalCents: 1, bucket: 0 });
      states.put('RPUSH', 'pool', '1:1:1');
    };
    const keys = ['meta', 'pool', 'grants', 'outbox'];
    expect(await states.withOtherTypes(keys, setUp, open)).toEqual(each(keys, 'error WRONGTYPE'));
  });

  it.each([
    ['open', 'paused', [{ was: 'open', is: 'paused' }, { meta: 'state=paused' }]],
    ['paused', 'open', [{ was: 'paused', is: 'open' }, { meta: 'state=open' }]],
    ['paused', 'paused', [{ was: 'paused', is: 'paused' }, { meta: 'state=paused' }]],
    ['draft', 'paused', [{ was: 'draft', is: 'draft' }, { meta: 'state=draft' }]],
    ['open', 'closed', ['error BADSTATE', { meta: 'state=open' }]],
  ])('set-pause: from %s to %s', async (from, to, expected) => {
    put({ state: from });
    expect(await states.after(pause(to))).toEqual(expected);
  });

  it('set-pause: changes nothing without a bucket', async () => {
    expect(await states.after(pause('open'))).toEqual([{ was: '', is: '' }, {}]);
  });

  it('set-pause: keeps the later decision; next-decision: numbers them', async () => {
    put({ state: 'open' });
    expect((await states.after(pause('paused', '9')))[0]).toEqual({ was: 'open', is: 'paused' });
    expect(await states.after(pause('open', '8'))).toEqual([
      { was: 'paused', is: 'paused' },
      { meta: 'decision=9, state=paused' },
    ]);
    expect((await states.after(pause('open', '10')))[0]).toEqual({ was: 'paused', is: 'open' });
    const decide = () => states.call(nextDecision, {});
    expect(await states.after(decide())).toEqual([`${NOW}000`, { meta: `decision=${NOW}000, state=open` }]);
    // The clock of the node may be behind.
    put({ decision: `${NOW}009` });
    expect(await decide()).toBe(`${NOW}010`);
    clear();
    expect(await states.after(decide())).toEqual(['', {}]);
  });

  it('note-report: notes a higher number only', async () => {
    expect(await report(1)).toBe(false);
    put({ reportedPackets: 2 });
    expect(await report(2)).toBe(false);
    expect(await states.after(report(3))).toEqual([true, { meta: 'reportedPackets=3' }]);
    put({ expiresAtMs: 7 });
    expect([await report(4), await report(4, 6), await report(4, 7)]).toEqual([false, false, true]);
  });

  it('check-permissions: lists what the user may not run', async () => {
    const commands =
      'TIME HGET HMGET HLEN HKEYS HDEL HSCAN HSET HEXISTS HINCRBY EXISTS LLEN LINDEX LPOP LRANGE LTRIM RENAME RPUSH PTTL PEXPIREAT PERSIST XLEN XRANGE XREVRANGE XDEL XADD XGROUP ZADD ZCARD ZRANGE ZSCORE ZREM GET SET'.split(
        ' ',
      );
    const check = () => states.call(checkPermissions, {});
    expect(await states.withDenied(commands, () => undefined, check)).toEqual(
      Object.fromEntries(commands.map((name) => [name, [name]])),
    );
    expect(await check()).toEqual([]);
  });
});
