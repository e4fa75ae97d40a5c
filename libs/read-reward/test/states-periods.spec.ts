import { NOW, ScriptStates } from '../../../test/support/script-states';
import { readRewardScripts, readStatus, recordFully } from '../src/read-reward.scripts';

/** Starts of the previous, the current and the next periods, and the end of the last one. */
const BOUNDS = [NOW - 5_000, NOW - 1_000, NOW + 2_000, NOW + 6_000, NOW + 13_000] as const;

const [B0, B1, B2, B3, B4] = BOUNDS;

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

  it.each([
    ['before the previous period', B0 - 1, ['false 0 0 0 -4001', 'outside 0 0 0 0 0 -4001 ', {}]],
    [
      'at the start of the previous period',
      B0,
      [
        'true 0 0 3 0',
        'rewarded 10 1 2 1 -4000 0 a',
        { state: '=1799999995000:1799999999000:1800000002000:10:0:1:0, a=1:0:10:2:a | 7000' },
      ],
    ],
    [
      'at the end of the previous period',
      B1 - 1,
      [
        'true 0 0 3 0',
        'rewarded 10 1 2 1 -4000 0 a',
        { state: '=1799999995000:1799999999000:1800000002000:10:0:1:0, a=1:0:10:2:a | 3001' },
      ],
    ],
    [
      'at the start of the current period',
      B1,
      [
        'true 0 0 3 3000',
        'rewarded 10 1 2 1 0 3000 a',
        { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 7000' },
      ],
    ],
    [
      'at the end of the current period',
      B2 - 1,
      [
        'true 0 0 3 3000',
        'rewarded 10 1 2 1 0 3000 a',
        { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 4001' },
      ],
    ],
    [
      'at the start of the next period',
      B2,
      [
        'true 0 0 3 7000',
        'rewarded 10 1 2 1 3000 7000 a',
        { state: '=1800000002000:1800000006000:1800000013000:10:0:1:0, a=1:0:10:2:a | 11000' },
      ],
    ],
    [
      'at the end of the next period',
      B3 - 1,
      [
        'true 0 0 3 7000',
        'rewarded 10 1 2 1 3000 7000 a',
        { state: '=1800000002000:1800000006000:1800000013000:10:0:1:0, a=1:0:10:2:a | 7001' },
      ],
    ],
    ['after the next period', B3, ['false 0 0 0 7000', 'outside 0 0 0 0 0 7000 ', {}]],
  ])('by a clock %s', async (_, nowMs, expected) => {
    states.clock.set(nowMs);
    const [reply] = await after(status());
    expect([reply, ...(await after(record('a')))]).toEqual(expected);
  });

  it.each([
    [
      'ends at the start of the current one',
      `${B0}:${B1}:${B2}:10:0:3:1`,
      NOW,
      [
        'true 0 0 3 3000',
        'rewarded 10 1 2 1 0 3000 a',
        { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 6000' },
      ],
    ],
    [
      'ends after the start of the current one',
      `${B0}:${B1 + 1}:${B2}:10:0:3:1`,
      NOW,
      [
        'true 0 0 3 7000',
        'rewarded 10 1 2 1 1 7000 a',
        { state: '=1799999999001:1800000006000:1800000010000:10:0:1:0, a=1:0:10:2:a | 10000' },
      ],
    ],
    [
      'ends now',
      `${B0}:${NOW}:${B2}:10:0:3:1`,
      NOW,
      [
        'true 0 0 3 7000',
        'rewarded 10 1 2 1 1000 7000 a',
        { state: '=1800000000000:1800000006000:1800000010000:10:0:1:0, a=1:0:10:2:a | 10000' },
      ],
    ],
    [
      'ends later',
      `${B0}:${NOW + 1}:${B2}:10:-4:3:1`,
      NOW,
      [
        'true 16 2 1 1001',
        'rewarded 10 3 0 4 -4000 1001 a',
        { state: '=1799999995000:1800000000001:1800000002000:10:-4:4:1, a=4:1:10:0:a, old=3:1:10::old | 2000' },
      ],
    ],
    [
      'ended when the previous one began',
      `${B0 - 1}:${B0}:${B1}:10:0:3:1`,
      B1 - 1,
      [
        'true 0 0 3 0',
        'rewarded 10 1 2 1 -4000 0 a',
        { state: '=1799999995000:1799999999000:1800000002000:10:0:1:0, a=1:0:10:2:a | 3001' },
      ],
    ],
    [
      'ended after the previous one began',
      `${B0 - 1}:${B0 + 1}:${B1}:10:0:3:1`,
      B1 - 1,
      [
        'true 0 0 3 3000',
        'rewarded 10 1 2 1 -3999 3000 a',
        { state: '=1799999995001:1800000002000:1800000005000:10:0:1:0, a=1:0:10:2:a | 6001' },
      ],
    ],
    [
      'ended after the next one began',
      `${B1}:${B2 + 1}:${B3}:10:0:3:1`,
      B2 + 1,
      [
        'true 0 0 3 14000',
        'rewarded 10 1 2 1 3001 14000 a',
        { state: '=1800000002001:1800000013000:1800000020000:10:0:1:0, a=1:0:10:2:a | 17999' },
      ],
    ],
    [
      'has another form',
      'x',
      NOW,
      [
        'true 0 0 3 3000',
        'rewarded 10 1 2 1 0 3000 a',
        { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 6000' },
      ],
    ],
  ])('goes on after a period that %s', async (_, head, nowMs, expected) => {
    states.clock.set(nowMs);
    put(head, 50_000, ['old', '3:1:10::old']);
    const [first] = await after(status());
    expect([first, ...(await after(record('a')))]).toEqual(expected);
  });

  it('sets a TTL of the state that is missing', async () => {
    const old = `${B1}:${B2}:${B3}:10:0:1:0`;
    put(old, -1, ['a', '1:0:10:2:x']);
    expect(await after(record('a'))).toEqual([
      'duplicate 0 1 2 0 0 3000 a',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:x | 6000' },
    ]);
    put(old, -1, ['a', '1:0:10:2:x']);
    states.put('SADD', 'ever', 'z');
    const [, { ever, state }] = (await after(record('a', { names: SEPARATE }))) as [unknown, Record<string, string>];
    expect([ever, state]).toEqual(['z', `=${old}, a=1:0:10:2:x | 6000`]);
    states.put('DEL', 'ever');
    put(old, -1);
    expect(await after(status())).toEqual([
      'true 10 1 2 3000',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0 | 6000' },
    ]);
    put(old, 50_000);
    expect(await after(status())).toEqual([
      'true 10 1 2 3000',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:1:0 | 50000' },
    ]);
  });

  it.each([
    ['eight integers', `3:10:0:0:${BOUNDS.slice(0, 4).join(':')}`],
    ['no points', `3:0:0:0:${BOUNDS.join(':')}`],
    ['a previous period of no length', `3:10:0:0:${[B1, B1, B2, B3, B4].join(':')}`],
    ['a current period of no length', `3:10:0:0:${[B0, B1, B1, B3, B4].join(':')}`],
    ['a next period of no length', `3:10:0:0:${[B0, B1, B2, B2, B4].join(':')}`],
    ['a last period of no length', `3:10:0:0:${[B0, B1, B2, B3, B3].join(':')}`],
  ])('refuses a rule with %s', async (_, rule) => {
    expect(await after(record('a', { rule }))).toEqual(['error BADRULE', {}]);
    expect(await after(status(rule))).toEqual(['error BADRULE', {}]);
  });

  it('takes a rule with 1 point', async () => {
    expect((await after(record('a', { rule: `3:1:0:0:${BOUNDS.join(':')}` })))[0]).toEqual('rewarded 1 1 2 1 0 3000 a');
  });
});
