import { NOW, NOW_US, ScriptStates } from '../../../test/support/script-states';
import {
  claimRun,
  completeRun,
  lookAtJob,
  readHistory,
  renewRun,
  scheduledLockScripts,
} from '../src/scheduled-lock.scripts';

const LEASE_MS = 60_000;
const RETENTION_MS = 5_000;
const PERIOD_MS = 1_000;

describe('each script of a job, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(scheduledLockScripts);
  type Args = Readonly<Record<string, string | number>>;
  const claim = (args: Args = {}) =>
    states.call(claimRun, {
      owner: 'me',
      node: 'node',
      mode: 'tick',
      slot: NOW,
      periodMs: 0,
      staleMs: 0,
      leaseMs: LEASE_MS,
      retentionMs: RETENTION_MS,
      keep: 3,
      ...args,
    });
  const renew = (owner = 'me') => states.call(renewRun, { owner, leaseMs: LEASE_MS, retentionMs: RETENTION_MS });
  const complete = (args: Args = {}) =>
    states.call(completeRun, {
      owner: 'me',
      node: 'node',
      status: 'ran',
      durationMs: 11,
      atLeastMs: 0,
      retentionMs: RETENTION_MS,
      keep: 3,
      slot: NOW - 1,
      fence: 7,
      ...args,
    });
  /** A run of another owner that lasts 1 ms more, of the slot before this one. */
  const other = {
    slot: NOW - PERIOD_MS,
    open: 1,
    owner: 'other',
    mode: 'tick',
    fence: 7,
    since: NOW - 500,
    till: NOW + 1,
    done: 0,
  };
  const textOf = (state: Readonly<Record<string, string | number>>): string =>
    Object.entries(state)
      .map(([name, value]) => `${name}=${value}`)
      .sort()
      .join(', ');
  const put = (state: Args = {}) => {
    states.put('DEL', 'state');
    states.put('DEL', 'history');
    states.put('HSET', 'state', ...Object.entries({ ...other, ...state }).flat());
    states.put('PEXPIRE', 'state', 9_000);
  };
  const history = () => states.keys().history;
  const taken = {
    slot: NOW,
    open: 1,
    owner: 'me',
    mode: 'tick',
    fence: NOW_US,
    since: NOW,
    till: NOW + LEASE_MS,
    done: 0,
  };
  const takenKeys = (state: Args = {}) => ({
    state: `${textOf({ ...taken, ...state })} | ${LEASE_MS + RETENTION_MS}`,
  });
  const ran = (slot: number, fence = NOW_US) => ({ status: 'ran', slot, fence, leftMs: 0 });

  it('claim: runs the first slot, and returns the claim again', async () => {
    expect(await states.after(claim())).toEqual([ran(NOW), takenKeys()]);
    states.clock.set(NOW + 1);
    const left = { state: `${textOf(taken)} | ${LEASE_MS + RETENTION_MS - 1}` };
    expect(await states.after(claim({ slot: 1, leaseMs: 1 }))).toEqual([ran(NOW), left]);
    expect(await states.after(claim({ mode: 'free' }))).toEqual([ran(0), left]);
  });

  it('claim: runs slot 0, and a slot at a time with microseconds', async () => {
    expect(await states.after(claim({ slot: 0 }))).toEqual([ran(0), takenKeys({ slot: 0 })]);
    put({ till: NOW });
    states.clock.set(NOW + 0.25);
    expect(await states.after(claim())).toEqual([ran(NOW, NOW_US + 250), takenKeys({ fence: NOW_US + 250 })]);
  });

  it('claim: raises the fence of the last run', async () => {
    put({ till: NOW, fence: NOW_US - 1, done: 1, open: 0 });
    expect(await states.after(claim())).toEqual([ran(NOW), takenKeys()]);
    put({ till: NOW, fence: NOW_US });
    expect(await states.after(claim())).toEqual([ran(NOW, NOW_US + 1), takenKeys({ fence: NOW_US + 1 })]);
  });

  it('claim: refuses a slot that was claimed, and one that is held, and keeps the history short', async () => {
    put({ till: NOW, slot: NOW });
    const state = `${textOf({ ...other, till: NOW, slot: NOW })} | 9000`;
    const skipped = { status: 'skipped-slot', slot: NOW, fence: 0, leftMs: 0 };
    const line = `skipped-slot ${NOW} ${NOW} 0 0 node`;
    expect(await states.after(claim())).toEqual([skipped, { state, history: `${line} | ${RETENTION_MS}` }]);
    put();
    const held = { ...skipped, status: 'skipped-held' };
    for (const node of ['a', 'b', 'c', 'd']) expect(await claim({ node })).toEqual(held);
    const lines = ['d', 'c', 'b'].map((node) => `skipped-held ${NOW} ${NOW} 0 0 ${node}`);
    expect(states.keys()).toEqual({
      state: `${textOf(other)} | 9000`,
      history: `${lines.join(', ')} | ${RETENTION_MS}`,
    });
  });

  it.each([
    [5, NOW - 5, 'ran'],
    [5, NOW - 6, 'stale'],
    [5, NOW + 5, 'ran'],
    [5, NOW + 6, 'stale'],
    [1, NOW - 2, 'stale'],
    [0, NOW - 2, 'ran'],
  ])('claim: with staleMs %i, the slot %i is %s', async (staleMs, slot, status) => {
    put({ slot: NOW - 100, till: NOW });
    expect(await claim({ staleMs, slot })).toMatchObject({ status, slot });
    expect(history()).toBe(status === 'ran' ? undefined : `stale ${slot} ${NOW} 0 0 node | ${RETENTION_MS}`);
  });

  it('claim: a stale slot that was claimed is stale', async () => {
    put({ slot: NOW });
    expect(await claim({ staleMs: 5, slot: NOW - 6 })).toMatchObject({ status: 'stale' });
  });

  it('claim: runs the current period, and waits while it lasts', async () => {
    states.clock.set(NOW + 300);
    expect(await states.after(claim({ slot: 0, periodMs: PERIOD_MS }))).toEqual([
      ran(NOW, NOW_US + 300_000),
      takenKeys({ fence: NOW_US + 300_000, since: NOW + 300, till: NOW + 300 + LEASE_MS }),
    ]);
    put({ till: NOW + 301 });
    const held = { status: 'skipped-held', slot: NOW, fence: 0, leftMs: 700 };
    expect(await claim({ slot: 0, periodMs: PERIOD_MS })).toEqual(held);
    expect(await claim({ slot: NOW, periodMs: PERIOD_MS })).toEqual(held);
    expect(history()).toBeUndefined();
    // The period of the slot is over.
    const over = { ...held, slot: NOW - PERIOD_MS, leftMs: 0 };
    put({ slot: NOW - 2 * PERIOD_MS, till: 0 });
    expect(await claim({ slot: NOW - PERIOD_MS, periodMs: PERIOD_MS })).toEqual(over);
    expect(history()).toBe(`skipped-held ${NOW - PERIOD_MS} ${NOW + 300} 0 0 node | ${RETENTION_MS}`);
    expect(await claim({ slot: NOW, periodMs: 1 })).toMatchObject({ status: 'skipped-held', slot: NOW });
    expect(await claim({ slot: 0, periodMs: 1 })).toMatchObject({ status: 'ran', slot: NOW + 300 });
  });

  it('claim: waits in a period of 1 ms', async () => {
    put();
    expect(await claim({ slot: 0, periodMs: 1 })).toMatchObject({ status: 'skipped-held', leftMs: 1 });
  });

  it('claim: a slot of the current period that was claimed is skipped', async () => {
    put({ slot: NOW });
    const skipped = { status: 'skipped-slot', slot: NOW, fence: 0, leftMs: 0 };
    expect(await claim({ slot: 0, periodMs: PERIOD_MS })).toEqual(skipped);
  });

  it('claim: a catch-up takes an open slot whose lease has ended', async () => {
    const nothing = { status: 'nothing', slot: 0, fence: 0, leftMs: 0 };
    const args = { mode: 'catch-up', staleMs: PERIOD_MS, slot: 1 };
    expect(await states.after(claim(args))).toEqual([nothing, {}]);
    put({ slot: -1, till: NOW });
    expect(await claim(args)).toEqual(nothing);
    put({ till: NOW, open: 0 });
    expect(await claim(args)).toEqual(nothing);
    put({ till: NOW + 1 });
    expect(await claim(args)).toEqual(nothing);
    put({ till: NOW });
    expect(await claim({ ...args, staleMs: PERIOD_MS - 1 })).toEqual(nothing);
    expect(history()).toBeUndefined();
    expect(await states.after(claim(args))).toEqual([
      ran(NOW - PERIOD_MS),
      takenKeys({ mode: 'catch-up', slot: NOW - PERIOD_MS }),
    ]);
    put({ till: 0, slot: 0 });
    expect(await claim({ ...args, staleMs: NOW })).toEqual(ran(0));
  });

  it('claim: free takes no slot', async () => {
    expect(await claim({ mode: 'free', periodMs: PERIOD_MS })).toEqual(ran(0));
    put({ till: NOW, open: 0 });
    expect(await states.after(claim({ mode: 'free' }))).toEqual([
      ran(0),
      takenKeys({ mode: 'free', slot: NOW - PERIOD_MS, open: 0 }),
    ]);
    put();
    const held = { status: 'skipped-held', slot: 0, fence: 0, leftMs: 0 };
    expect(await claim({ mode: 'free', periodMs: PERIOD_MS })).toEqual(held);
    expect(history()).toBe(`skipped-held 0 ${NOW} 0 0 node | ${RETENTION_MS}`);
  });

  it('renew: restarts a lease that has not ended, of the same owner only', async () => {
    for (const state of [{}, { owner: 'me', done: 1 }, { owner: 'me', till: NOW }] as Record<
      string,
      string | number
    >[]) {
      put(state);
      expect(await states.after(renew())).toEqual([false, { state: `${textOf({ ...other, ...state })} | 9000` }]);
    }
    put({ owner: 'me' });
    states.clock.set(NOW + 0.999);
    expect(await states.after(renew())).toEqual([
      true,
      { state: `${textOf({ ...other, owner: 'me', till: NOW + LEASE_MS })} | ${LEASE_MS + RETENTION_MS}` },
    ]);
  });

  it('renew and complete: read a time with microseconds', async () => {
    put({ owner: 'me', till: NOW + 1_000 });
    states.clock.set(NOW + 999.5);
    await renew();
    expect(states.put('HGET', 'state', 'till')).toBe(String(NOW + 999 + LEASE_MS));
    await complete();
    expect(history()).toBe(`ran ${NOW - 1} ${NOW + 999} 11 7 node | ${RETENTION_MS}`);
  });

  it.each([
    ['ran', 'tick', 0, { till: NOW - 500, open: 0 }],
    ['ran', 'tick', 800, { till: NOW + 300, open: 0 }],
    ['failed', 'catch-up', 800, { till: NOW + 300, open: 0 }],
    ['ran', 'free', 800, { till: NOW + 300 }],
    ['lost', 'tick', 800, { till: 0 }],
    ['lost', 'catch-up', 800, { till: 0 }],
    ['redis-error', 'tick', 800, { till: 0, open: 0, slot: NOW - PERIOD_MS - 1 }],
    ['redis-error', 'catch-up', 800, { till: 0 }],
    ['redis-error', 'free', 800, { till: 0 }],
  ])(
    'complete: with %s, ends a run of a %s that the lock outlasts by %i ms',
    async (status, mode, atLeastMs, state) => {
      put({ owner: 'me', mode });
      states.clock.set(NOW + 0.999);
      const keys = {
        state: `${textOf({ ...other, owner: 'me', mode, done: 1, ...state })} | ${atLeastMs + RETENTION_MS}`,
        ...(status === 'redis-error' ? {} : { history: `${status} ${NOW - 1} ${NOW} 11 7 node | ${RETENTION_MS}` }),
      };
      const call = () => complete({ status, atLeastMs });
      expect(await states.after(call())).toEqual(['released', keys]);
      expect(await states.after(call())).toEqual(['released', keys]);
    },
  );

  it('complete: never keeps a lock till a time below 0', async () => {
    put({ owner: 'me', since: -5 });
    expect(await complete()).toBe('released');
    expect(states.put('HGET', 'state', 'till')).toBe('0');
  });

  it.each([
    ['of another owner', {}, 'me'],
    ['of another owner that has completed', { done: 1 }, 'me'],
    ['that ended now', { owner: 'me', till: NOW }, 'me'],
  ])('complete: only notes a run %s', async (_, state, owner) => {
    put(state);
    const kept = `${textOf({ ...other, ...state })} | 9000`;
    expect(await states.after(complete({ owner, status: 'redis-error' }))).toEqual(['lost', { state: kept }]);
    for (const node of ['a', 'b', 'c', 'd']) expect(await complete({ owner, node })).toBe('lost');
    const lines = ['d', 'c', 'b'].map((node) => `lost ${NOW - 1} ${NOW} 11 7 ${node}`);
    expect(states.keys()).toEqual({ state: kept, history: `${lines.join(', ')} | ${RETENTION_MS}` });
  });

  it('complete and claim: fail before they change anything if a key has another type', async () => {
    const setUp = () => {
      put({ owner: 'me', till: NOW + 1 });
      states.put('LPUSH', 'history', 'ran 1 1 1 1 node');
    };
    const wrong = { state: 'error WRONGTYPE', history: 'error WRONGTYPE' };
    expect(await states.withOtherTypes(['state', 'history'], setUp, complete)).toEqual(wrong);
    expect(await states.withOtherTypes(['state', 'history'], setUp, () => claim({ owner: 'new' }))).toEqual(wrong);
    const free = () => {
      setUp();
      states.put('HSET', 'state', 'till', 0);
    };
    expect(await states.withOtherTypes(['state', 'history'], free, () => claim({ owner: 'new' }))).toEqual(wrong);
  });

  it('history: returns all entries, the newest first', async () => {
    states.put('RPUSH', 'history', `failed 3 4 5 6 node`, 'ran 1 2 3 4 other');
    expect(await states.call(readHistory, {})).toEqual([
      { status: 'failed', slot: 3, recordedAtMs: 4, durationMs: 5, fence: 6, node: 'node' },
      { status: 'ran', slot: 1, recordedAtMs: 2, durationMs: 3, fence: 4, node: 'other' },
    ]);
  });

  it('look: says if the last run is running, has died or is done, and reads the last outcomes', async () => {
    const look = (entries = 2) => states.call(lookAtJob, { entries });
    states.put('DEL', 'state');
    states.put('DEL', 'history');
    const none = { run: 'none', owner: '', mode: '', fence: 0, startedAtMs: 0, leaseEndsAtMs: 0, records: [] };
    expect(await look()).toEqual(none);
    put();
    const run = { owner: 'other', mode: 'tick', fence: 7, startedAtMs: NOW - 500, leaseEndsAtMs: NOW + 1 };
    expect(await look()).toEqual({ ...run, run: 'running', records: [] });
    put({ till: NOW });
    expect(await look()).toEqual({ ...run, run: 'died', leaseEndsAtMs: NOW, records: [] });
    put({ done: 1 });
    states.put('RPUSH', 'history', 'ran 1 2 3 4 node', 'failed 5 6 7 8 node', 'lost 9 10 11 12 node');
    const [first, second] = [
      { status: 'ran', slot: 1, recordedAtMs: 2, durationMs: 3, fence: 4, node: 'node' },
      { status: 'failed', slot: 5, recordedAtMs: 6, durationMs: 7, fence: 8, node: 'node' },
    ];
    expect(await look()).toEqual({ ...run, run: 'done', records: [first, second] });
    expect(await look(1)).toEqual({ ...run, run: 'done', records: [first] });
  });
});
