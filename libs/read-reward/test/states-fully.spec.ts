import { NOW, ScriptStates } from '../../../test/support/script-states';
import { readRewardScripts, readStatus, recordFully } from '../src/read-reward.scripts';

/** Starts of the previous, the current and the next periods, and the end of the last one. */
const BOUNDS = [NOW - 5_000, NOW - 1_000, NOW + 2_000, NOW + 6_000, NOW + 13_000] as const;

const [B0, B1, B2, B3] = BOUNDS;

const ALL: Readonly<Record<string, string>> = { state: 'state', ever: 'state', answer: 'state', ledger: 'state' };

const SEPARATE: Readonly<Record<string, string>> = {};

interface Rule {
  limit?: number;
  cap?: number;
  totalMs?: number;
}

interface Given {
  rule?: Rule | string;
  names?: Readonly<Record<string, string>>;
  token?: string;
  everMs?: number;
  answerMs?: number;
  ledgerMs?: number;
  name?: string;
  userId?: string;
}

describe('record-fully and status, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(readRewardScripts);
  const ruleOf = ({ limit = 3, cap = 0, totalMs = 0 }: Rule) => `${limit}:10:${cap}:${totalMs}:${BOUNDS.join(':')}`;
  const record = (itemId: string, { rule = {}, names = ALL, ...args }: Given = {}) =>
    states.call(
      recordFully,
      {
        itemId,
        token: itemId,
        rule: typeof rule === 'string' ? rule : ruleOf(rule),
        everMs: 0,
        answerMs: 0,
        ledgerMs: 0,
        name: 'rule',
        userId: 'user',
        ...args,
      },
      names,
    );
  const status = (rule: Rule | string = {}) =>
    states.call(readStatus, { rule: typeof rule === 'string' ? rule : ruleOf(rule) });
  /** As short texts: status, points, used, remaining, seq; start and end; item. */
  const after = async (call: Promise<unknown>): Promise<readonly unknown[]> => {
    const [reply, keys] = await states.after(call);
    return [typeof reply === 'object' ? Object.values(reply as object).join(' ') : reply, keys];
  };
  const put = (head: string, ttlMs = B3 - NOW, fields: readonly string[] = []) => {
    states.put('DEL', 'state');
    states.put('HSET', 'state', '', head, ...fields);
    if (ttlMs >= 0) states.put('PEXPIRE', 'state', ttlMs);
  };

  it('rewards new items up to the limit, and returns a replay the first result', async () => {
    expect(await after(record('a'))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 6000' },
    ]);
    states.clock.set(NOW + 1);
    expect(await after(record('b'))).toEqual([
      'rewarded 10 2 1 2 0 3000 b',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(record('a'))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(record('a', { token: 'other' }))).toEqual([
      'duplicate 0 2 1 0 0 3000 a',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(record('c', { rule: { limit: 2 } }))).toEqual([
      'capped 0 2 0 0 0 3000 c',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(record('c', { rule: { limit: 1 } }))).toEqual([
      'capped 0 2 0 0 0 3000 c',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(status({ limit: 1 }))).toEqual([
      'true 20 2 0 3000',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(status({ limit: 4 }))).toEqual([
      'true 20 2 2 3000',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(status({ limit: 4, cap: 21 }))).toEqual([
      'true 20 2 1 3000',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
    expect(await after(status({ limit: 4, cap: 20 }))).toEqual([
      'true 20 2 0 3000',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 5999' },
    ]);
  });

  it('in one group, each call finds what the calls before it have done', async () => {
    expect(
      await after(Promise.all([record('a'), record('a', { token: 'b' }), record('c'), record('d'), record('e')])),
    ).toEqual([
      '[object Object] [object Object] [object Object] [object Object] [object Object]',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:3:0, a=1:0:10:2:a, c=2:0:10:1:c, d=3:0:10:0:d | 6000' },
    ]);
  });

  it('grants the rest of the limit of points, and counts refunds', async () => {
    const rule = { limit: 9, cap: 25 };
    expect(await after(record('a', { rule }))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 6000' },
    ]);
    expect(await after(record('b', { rule }))).toEqual([
      'rewarded 10 2 1 2 0 3000 b',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 6000' },
    ]);
    expect(await after(record('c', { rule }))).toEqual([
      'rewarded 5 3 0 3 0 3000 c',
      { state: '=1799999999000:1800000002000:1800000006000:10:-5:3:0, a=1:0:10:2:a, b=2:0:10:1:b, c=3:0:5:0:c | 6000' },
    ]);
    expect(await after(record('d', { rule }))).toEqual([
      'capped 0 3 0 0 0 3000 d',
      { state: '=1799999999000:1800000002000:1800000006000:10:-5:3:0, a=1:0:10:2:a, b=2:0:10:1:b, c=3:0:5:0:c | 6000' },
    ]);
    expect(await after(status(rule))).toEqual([
      'true 25 3 0 3000',
      { state: '=1799999999000:1800000002000:1800000006000:10:-5:3:0, a=1:0:10:2:a, b=2:0:10:1:b, c=3:0:5:0:c | 6000' },
    ]);
    put(`${B1}:${B2}:${B3}:10:-5:5:3`);
    expect(await after(record('e', { rule }))).toEqual([
      'rewarded 10 3 0 6 0 3000 e',
      { state: '=1799999999000:1800000002000:1800000006000:10:-5:6:3, e=6:3:10:0:e | 6000' },
    ]);
    expect(await after(record('e', { rule }))).toEqual([
      'rewarded 10 3 0 6 0 3000 e',
      { state: '=1799999999000:1800000002000:1800000006000:10:-5:6:3, e=6:3:10:0:e | 6000' },
    ]);
  });

  it('returns a replay of record the first result', async () => {
    put(`${B1}:${B2}:${B3}:10:0:5:2`, B3 - NOW, ['a', '4:1:10::a']);
    expect(await after(record('a', { rule: { limit: 7 } }))).toEqual([
      'rewarded 10 3 4 4 0 3000 a',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:5:2, a=4:1:10::a | 6000' },
    ]);
    expect(await after(record('a', { rule: { limit: 7, cap: 41 } }))).toEqual([
      'rewarded 10 3 2 4 0 3000 a',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:5:2, a=4:1:10::a | 6000' },
    ]);
    expect(await after(record('a', { rule: { limit: 7 }, answerMs: 500, names: SEPARATE }))).toEqual([
      'duplicate 0 3 4 0 0 3000 a',
      {
        answer: '2:0:3:4:0:1799999999000:1800000002000:a | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:5:2, a=4:1:10::a | 6000',
      },
    ]);
  });

  it('total: has one period, which ends some time after the last grant', async () => {
    const rule = { totalMs: 7_000 };
    expect(await after(record('a', { rule }))).toEqual([
      'rewarded 10 1 2 1 1000 3000 a',
      { state: '=1800000000000:1800000002000:1800000007000:10:0:1:0, a=1:0:10:2:a | 7000' },
    ]);
    states.clock.set(NOW + 1_500);
    expect(await after(record('b', { rule }))).toEqual([
      'rewarded 10 2 1 2 1000 3000 b',
      { state: '=1800000000000:1800000002000:1800000008500:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 7000' },
    ]);
    expect(await after(record('b', { rule, token: 'x' }))).toEqual([
      'duplicate 0 2 1 0 1000 3000 b',
      { state: '=1800000000000:1800000002000:1800000008500:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 7000' },
    ]);
    expect(await after(status(rule))).toEqual([
      'true 20 2 1 3000',
      { state: '=1800000000000:1800000002000:1800000008500:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 7000' },
    ]);
    states.put('PERSIST', 'state');
    expect(await after(status(rule))).toEqual([
      'true 20 2 1 3000',
      { state: '=1800000000000:1800000002000:1800000008500:10:0:2:0, a=1:0:10:2:a, b=2:0:10:1:b | 7000' },
    ]);
  });

  it('takes a limit of 1 point, and a period of 1 ms for each user', async () => {
    expect((await after(record('a', { rule: { cap: 1 } })))[0]).toBe('rewarded 1 1 0 1 0 3000 a');
    states.put('DEL', 'state');
    expect((await after(record('a', { rule: { totalMs: 1 } })))[1]).toEqual({
      state: `=${NOW}:${B2}:${NOW + 1}:10:0:1:0, a=1:0:10:2:a | 1`,
    });
    put(`${B0}:${B1}:${B2}:10:0:1:0`, 50_000, ['a', '1:0:10:2:x', 'b', '2:0:10:2:x']);
    expect((await after(record('a', { rule: { totalMs: 7_000 } })))[1]).toEqual({
      state: `=${NOW}:${B2}:${NOW + 7_000}:10:0:1:0, a=1:0:10:2:a | 7000`,
    });
  });

  it('refuses a time below 0', async () => {
    for (const args of [{ everMs: -1 }, { answerMs: -1 }, { ledgerMs: -1 }]) {
      expect(await after(record('a', { ...args, names: SEPARATE }))).toEqual(['error BADRULE', {}]);
    }
  });

  it('checks the permissions before the first write', async () => {
    const args = { everMs: 700, answerMs: 500, ledgerMs: 900, names: SEPARATE };
    const commands = ['HSET', 'PEXPIREAT', 'UNLINK', 'SADD', 'XADD', 'SET'];
    const keys = ['HSET state', 'PEXPIREAT state', 'UNLINK state', 'SADD ever', 'XADD ledger', 'SET answer'];
    const setUp = () => undefined;
    const all = (names: readonly string[], reply: unknown) => Object.fromEntries(names.map((name) => [name, reply]));
    expect(await states.withDenied([...commands, ...keys], setUp, () => record('a', args))).toEqual(
      all([...commands, ...keys], 'error NOTALLOWED'),
    );
    expect(await states.withDenied(['HSET', 'PEXPIREAT', 'UNLINK'], setUp, () => record('a'))).toEqual(
      all(['HSET', 'PEXPIREAT', 'UNLINK'], 'error NOTALLOWED'),
    );
    const duplicate = () => put(`${B1}:${B2}:${B3}:10:0:1:0`, 50_000, ['a', '1:0:10:2:x']);
    expect(await states.withDenied(['XADD', 'SET'], duplicate, () => record('a', args))).toEqual(
      all(['XADD', 'SET'], 'error NOTALLOWED'),
    );
    const reply = { status: 'duplicate', points: 0, used: 1, remaining: 2, seq: 0, start: 0, end: 3_000, itemId: 'a' };
    expect(
      await states.withDenied(['HSET', 'SADD'], duplicate, () => record('a', { ledgerMs: 900, names: SEPARATE })),
    ).toEqual(all(['HSET', 'SADD'], reply));
    for (const [name, time] of [
      ['XADD', 'ledgerMs'],
      ['SET', 'answerMs'],
    ] as const) {
      for (const ms of [1, 900]) {
        const call = () => record('a', { [time]: ms, names: SEPARATE });
        expect(await states.withDenied([name], duplicate, call)).toEqual({ [name]: 'error NOTALLOWED' });
      }
    }
    const others = ['SADD', 'XADD', 'SET'];
    for (const name of others) {
      expect(Object.keys(await states.withDenied([name], setUp, () => record('a')))).toEqual([name]);
      expect(await states.withDenied([name], duplicate, () => record('a'))).toEqual({ [name]: reply });
    }
  });

  it('fails before it changes anything if a key has another type', async () => {
    const setUp = () => {
      put(`${B1}:${B2}:${B3}:10:0:1:0`);
      states.put('SADD', 'ever', 'x');
      states.put('PEXPIRE', 'ever', 5);
      states.put('XADD', 'ledger', '1-1', 'f', 'v');
    };
    const args = { everMs: 700, answerMs: 500, ledgerMs: 900, names: SEPARATE };
    expect(await states.withOtherTypes(['state', 'ever', 'answer', 'ledger'], setUp, () => record('a', args))).toEqual({
      state: 'error WRONGTYPE',
      ever: 'error WRONGTYPE',
      answer: 'error WRONGTYPE',
      ledger: 'error WRONGTYPE',
    });
  });
});
