import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { readItems, readRewardScripts, recordFully } from '../src/read-reward.scripts';

/** Starts of the previous, the current and the next periods, and the end of the last one. */
const BOUNDS = [NOW - 5_000, NOW - 1_000, NOW + 2_000, NOW + 6_000, NOW + 13_000] as const;

const [, B1, B2, B3] = BOUNDS;

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
  /** As short texts: status, points, used, remaining, seq; start and end; item. */
  const after = async (call: Promise<unknown>): Promise<readonly unknown[]> => {
    const [reply, keys] = await states.after(call);
    return [typeof reply === 'object' ? Object.values(reply as object).join(' ') : reply, keys];
  };

  it('ever: items count in later periods', async () => {
    const args = { everMs: 700, names: SEPARATE };
    expect(await after(record('a', args))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      { ever: 'a | 700', state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 6000' },
    ]);
    states.clock.set(B2);
    states.put('SADD', 'ever', 'a');
    expect(await after(record('a', { ...args, token: 'x' }))).toEqual([
      'duplicate 0 0 3 0 3000 7000 a',
      { ever: 'a | 700', state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 4000' },
    ]);
    states.put('PERSIST', 'ever');
    states.put('SADD', 'ever', 'b');
    expect(await after(record('c', args))).toEqual([
      'rewarded 10 1 2 1 3000 7000 c',
      { ever: 'a, b, c | 700', state: '=1800000002000:1800000006000:1800000013000:10:0:1:0, c=1:0:10:2:c | 11000' },
    ]);
    expect(await after(record('a', { ...args, token: 'x' }))).toEqual([
      'duplicate 0 1 2 0 3000 7000 a',
      { ever: 'a, b, c | 700', state: '=1800000002000:1800000006000:1800000013000:10:0:1:0, c=1:0:10:2:c | 11000' },
    ]);
    expect(await after(record('b', args))).toEqual([
      'duplicate 0 1 2 0 3000 7000 b',
      { ever: 'a, b, c | 700', state: '=1800000002000:1800000006000:1800000013000:10:0:1:0, c=1:0:10:2:c | 11000' },
    ]);
    states.put('DEL', 'ever');
    expect(await after(record('c', { ...args, token: 'x' }))).toEqual([
      'duplicate 0 1 2 0 3000 7000 c',
      { state: '=1800000002000:1800000006000:1800000013000:10:0:1:0, c=1:0:10:2:c | 11000' },
    ]);
  });

  it('answer: an operation id keeps its first result', async () => {
    const args = { token: 'operation', answerMs: 500, names: SEPARATE };
    expect(await after(record('a', args))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      {
        answer: '1:10:1:2:1:1799999999000:1800000002000:a | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:operation | 6000',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await after(record('b', args))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      {
        answer: '1:10:1:2:1:1799999999000:1800000002000:a | 499',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:operation | 5999',
      },
    ]);
    states.put('PERSIST', 'answer');
    expect(await after(record('b', args))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      {
        answer: '1:10:1:2:1:1799999999000:1800000002000:a | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:operation | 5999',
      },
    ]);
    states.put('DEL', 'answer');
    expect(await after(record('a', args))).toEqual([
      'duplicate 0 1 2 0 0 3000 a',
      {
        answer: '2:0:1:2:0:1799999999000:1800000002000:a | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:operation | 5999',
      },
    ]);
    states.put('DEL', 'answer');
    expect(await after(record('b', { ...args, rule: { limit: 1 } }))).toEqual([
      'capped 0 1 0 0 0 3000 b',
      {
        answer: '3:0:1:0:0:1799999999000:1800000002000:b | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:operation | 5999',
      },
    ]);
    expect(await after(record('b', args))).toEqual([
      'capped 0 1 0 0 0 3000 b',
      {
        answer: '3:0:1:0:0:1799999999000:1800000002000:b | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:operation | 5999',
      },
    ]);
    states.put('SET', 'answer', `1:2:3:4:5:${B1 + 6}:${B1 + 7}:it:em`);
    expect(await after(record('b', args))).toEqual([
      'rewarded 2 3 4 5 6 7 it:em',
      {
        answer: '1:2:3:4:5:1799999999006:1799999999007:it:em | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:operation | 5999',
      },
    ]);
  });

  it('ledger: has an entry for each grant', async () => {
    const args = { ledgerMs: 900, names: SEPARATE };
    expect(await after(record('a', { ...args, rule: { limit: 1 } }))).toEqual([
      'rewarded 10 1 0 1 0 3000 a',
      {
        ledger:
          '1800000000000-0 kind=grant rule=rule user=user item=a points=10 start=1799999999000 seq=1 at=1800000000000 | 900',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:0:a | 6000',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await after(record('b', { ...args, rule: { limit: 1 } }))).toEqual([
      'capped 0 1 0 0 0 3000 b',
      {
        ledger:
          '1800000000000-0 kind=grant rule=rule user=user item=a points=10 start=1799999999000 seq=1 at=1800000000000 | 899',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:0:a | 5999',
      },
    ]);
    states.put('PERSIST', 'ledger');
    expect(await after(record('b', { ...args, rule: { limit: 1 } }))).toEqual([
      'capped 0 1 0 0 0 3000 b',
      {
        ledger:
          '1800000000000-0 kind=grant rule=rule user=user item=a points=10 start=1799999999000 seq=1 at=1800000000000 | 900',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:0:a | 5999',
      },
    ]);
    expect(await after(record('b', args))).toEqual([
      'rewarded 10 2 1 2 0 3000 b',
      {
        ledger:
          '1800000000000-0 kind=grant rule=rule user=user item=a points=10 start=1799999999000 seq=1 at=1800000000000, 1800000000001-0 kind=grant rule=rule user=user item=b points=10 start=1799999999000 seq=2 at=1800000000001 | 900',
        state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:0:a, b=2:0:10:1:b | 5999',
      },
    ]);
    states.put('DEL', 'ledger');
    expect(await after(record('b', { ...args, token: 'x' }))).toEqual([
      'duplicate 0 2 1 0 0 3000 b',
      { state: '=1799999999000:1800000002000:1800000006000:10:0:2:0, a=1:0:10:0:a, b=2:0:10:1:b | 5999' },
    ]);
  });

  it('all: a grant writes state, ever, answer and ledger', async () => {
    const args = { everMs: 700, answerMs: 500, ledgerMs: 900, names: SEPARATE };
    states.clock.set(NOW + 0.5);
    expect(await after(record('a', args))).toEqual([
      'rewarded 10 1 2 1 0 3000 a',
      {
        answer: '1:10:1:2:1:1799999999000:1800000002000:a | 500',
        ever: 'a | 700',
        ledger:
          '1800000000000-0 kind=grant rule=rule user=user item=a points=10 start=1799999999000 seq=1 at=1800000000000 | 900',
        state: '=1799999999000:1800000002000:1800000006000:10:0:1:0, a=1:0:10:2:a | 6000',
      },
    ]);
  });

  it('keeps each time of 1 ms', async () => {
    const args = { everMs: 1, answerMs: 1, ledgerMs: 1, token: 'token', names: SEPARATE };
    const entry = `${NOW}-0 kind=grant rule=rule user=user item=a points=10 start=${B1} seq=1 at=${NOW}`;
    const granted = {
      answer: `1:10:1:2:1:${B1}:${B2}:a | 1`,
      ever: 'a | 1',
      ledger: `${entry} | 1`,
      state: `=${B1}:${B2}:${B3}:10:0:1:0, a=1:0:10:2:token | 6000`,
    };
    expect((await after(record('a', args)))[1]).toEqual(granted);
    expect((await after(record('b', args)))[0]).toBe('rewarded 10 1 2 1 0 3000 a');
    for (const key of ['ever', 'ledger', 'state']) states.put('PERSIST', key);
    states.put('DEL', 'answer');
    expect(await after(record('a', args))).toEqual([
      'duplicate 0 1 2 0 0 3000 a',
      { ...granted, answer: `2:0:1:2:0:${B1}:${B2}:a | 1` },
    ]);
    const commands = ['SADD ever', 'XADD ledger', 'SET answer'];
    expect(
      await states.withDenied(
        commands,
        () => undefined,
        () => record('a', args),
      ),
    ).toEqual(each(commands, 'error NOTALLOWED'));
  });

  it('returns the item of a call that is sent again, and leaves an empty ledger as it is', async () => {
    await record('a', { token: 'token', names: SEPARATE });
    expect((await after(record('a', { token: 'token', names: SEPARATE })))[0]).toBe('rewarded 10 1 2 1 0 3000 a');
    states.put('XADD', 'ledger', '1-1', 'f', 'v');
    states.put('XDEL', 'ledger', '1-1');
    await record('a', { token: 'x', ledgerMs: 900, names: SEPARATE });
    expect(states.keys().ledger).toBe('');
  });

  it('items: reads the grants of a period until it is over', async () => {
    const items = (cursor = '0') => states.call(readItems, { cursor, count: 10 });
    states.put('DEL', 'state');
    expect(await items()).toEqual({ next: '0', startsAtMs: 0, endsAtMs: 0, items: [] });
    const head = (to: number) => `${B1}:${to}:${B3}:10:-3:3:1`;
    states.put('HSET', 'state', '', head(NOW + 1), 'a', '1:0:10:2:token', 'b:c', '3:1:7::o:1', 'odd', 'no grant');
    const found = [
      { itemId: 'a', seq: 1, points: 10 },
      { itemId: 'b:c', seq: 3, points: 7 },
    ];
    expect(await items()).toEqual({ next: '0', startsAtMs: B1, endsAtMs: NOW + 1, items: found });
    states.put('HSET', 'state', '', head(NOW));
    expect(await items()).toEqual({ next: '0', startsAtMs: 0, endsAtMs: 0, items: [] });
  });
});
