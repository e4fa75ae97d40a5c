import { NOW, ScriptStates } from '../../../test/support/script-states';
import { consume, rateLimitScripts, readWindows, refund, reset, type Consumed } from '../src/rate-limit.scripts';

const LONGEST_MS = 34_560_000_000;

describe('consume with several rules and with blocks, reset and read-windows, at times of which all is known,', () => {
  const states = new ScriptStates(rateLimitScripts);
  const run = async (rules: readonly string[], ms = 0, charge = 1) => {
    states.clock.set(NOW + ms);
    const keys = rules.flatMap((_, at) => (at % 2 === 0 ? [`s${at / 2}`, `p${at / 2}`] : []));
    const [reply, left] = await states.after(states.call(consume, { charge, rules }, { keys }));
    return [(reply as Consumed).decisions.join(' '), left];
  };
  const blocks = (mode: string) => `fixed-window:2:1000:2:${mode}:100:2:300:500`;

  it('charges all rules, or none if one refuses', async () => {
    const rules = ['fixed-window:2:1000:2::', '1', 'fixed-window:3:2000:3::', '2'];
    expect(await run(rules)).toEqual(['1 0 1 1000 1000 0 2 2000 2000', { s0: '1 | 1000', s1: '2 | 2000' }]);
    expect(await run(rules, 1)).toEqual(['0 0 1 999 999 1 2 1999 1999', { s0: '1 | 999', s1: '2 | 1999' }]);
    expect(await run(rules, 2, 0)).toEqual(['0 0 1 998 998 1 2 1998 1998', { s0: '1 | 998', s1: '2 | 1998' }]);
    expect(await run([...rules.slice(0, 3), '0'], 3)).toEqual([
      '1 0 2 997 997 0 2 1997 1997',
      { s0: '2 | 997', s1: '2 | 1997' },
    ]);
    expect(await run([...rules.slice(0, 2), 'fixed-window:3:2000:3:shadow:', '2'], 1_500)).toEqual([
      '1 0 1 1000 1000 1 2 500 500',
      { s0: '1 | 1000', s1: '2 | 500' },
    ]);
    expect(await run([...rules.slice(0, 2), 'fixed-window:3:2000:3:shadow:', '1'], 1_500)).toEqual([
      '1 0 2 1000 1000 0 3 500 500',
      { s0: '2 | 1000', s1: '3 | 500' },
    ]);
  });

  it('sets TTLs that are missing or too long', async () => {
    const rules = ['fixed-window:2:1000:2::', '1', 'fixed-window:2:2000:2::', '1'];
    states.put('SET', 's0', 2);
    states.put('SET', 's1', 1, 'PX', 2_000 + 1_001);
    expect(await run(rules)).toEqual(['0 1 2 1000 1000 0 1 2000 2000', { s0: '2 | 1001', s1: '1 | 2001' }]);
    states.put('SET', 's0', 'reset:0');
    states.put('SET', 's1', 'x', 'PX', 1_001);
    expect(await run(rules, 0, 0)).toEqual(['1 0 0 0 0 0 0 0 0', { s0: 'reset:0 | 1001', s1: 'x | 1' }]);
    states.put('SET', 's0', 'x', 'PX', 1_000);
    states.put('SET', 's1', 'reset:0', 'PX', 3_001);
    expect(await run(rules, 0, 0)).toEqual(['1 0 0 0 0 0 0 0 0', { s0: 'x | 1000', s1: 'reset:0 | 2001' }]);
    states.put('SET', 's1', 'reset:0', 'PX', 3_000);
    expect(await run(rules, 0, 0)).toEqual(['1 0 0 0 0 0 0 0 0', { s0: 'x | 1000', s1: 'reset:0 | 3000' }]);
  });

  it.each([
    [
      '',
      [
        '"1 0 2 1000 1000" {"s0":"2 | 1000"}',
        '"0 1 2 1000 1000" {"s0":"2 | 1000"}',
        '"0 2 2 1000 1000" {"p0":"1800000000100:1 | 600","s0":"2 | 1000"}',
        '"0 2 2 950 950" {"p0":"1800000000100:1 | 550","s0":"2 | 950"}',
        '"0 2 2 901 1" {"p0":"1800000000100:1 | 501","s0":"2 | 901"}',
        '"0 1 2 900 900" {"p0":"1800000000100:1 | 500","s0":"2 | 900"}',
        '"0 2 2 900 1000" {"p0":"1800000000300:2 | 700","s0":"2 | 900"}',
        '"0 2 2 700 700" {"p0":"1800000000600:3 | 800","s0":"2 | 700"}',
        '"0 2 2 500 1000" {"p0":"1800000000600:3 | 600","s0":"2 | 500"}',
        '"0 2 2 300 300" {"p0":"1800000001099:4 | 800","s0":"2 | 201"}',
        '"0 2 2 299 1000" {"p0":"1800000001099:4 | 799","s0":"2 | 200"}',
        '"1 0 0 0 0" {"p0":"1800000001099:4 | 0"}',
        '"0 2 0 100 1000" {"p0":"1800000001700:1 | 600"}',
        '"1 0 0 0 0" {"p0":"1800000001700:1 | 1"}',
        '"0 2 0 100 1000" {"p0":"1800000002300:1 | 600"}',
      ],
    ],
    [
      'fresh',
      [
        '"1 0 2 1000 1000" {"s0":"2 | 1000"}',
        '"0 1 2 1000 1000" {"s0":"2 | 1000"}',
        '"0 2 2 100 100" {"p0":"1800000000100:1 | 600"}',
        '"0 2 0 50 50" {"p0":"1800000000100:1 | 550"}',
        '"0 2 0 1 1" {"p0":"1800000000100:1 | 501"}',
        '"1 0 0 0 0" {"p0":"1800000000100:1 | 500"}',
        '"0 2 0 200 200" {"p0":"1800000000300:2 | 700"}',
        '"1 0 1 1000 1000" {"p0":"1800000000300:2 | 500","s0":"1 | 1000"}',
        '"0 2 1 300 300" {"p0":"1800000000800:3 | 800"}',
        '"0 2 0 1 1" {"p0":"1800000000800:3 | 501"}',
        '"0 2 0 300 300" {"p0":"1800000001100:4 | 800"}',
        '"1 0 0 0 0" {"p0":"1800000001100:4 | 1"}',
        '"0 2 0 100 100" {"p0":"1800000001700:1 | 600"}',
        '"1 0 0 0 0" {"p0":"1800000001700:1 | 1"}',
        '"0 2 0 100 100" {"p0":"1800000002300:1 | 600"}',
      ],
    ],
    [
      'shadow',
      [
        '"1 0 2 1000 1000" {"s0":"2 | 1000"}',
        '"1 1 2 1000 1000" {"s0":"2 | 1000"}',
        '"1 1 2 1000 1000" {"s0":"2 | 1000"}',
        '"1 1 2 950 950" {"s0":"2 | 950"}',
        '"1 0 2 901 901" {"s0":"2 | 901"}',
        '"1 1 2 900 900" {"s0":"2 | 900"}',
        '"1 1 2 900 1000" {"s0":"2 | 900"}',
        '"1 1 2 700 700" {"s0":"2 | 700"}',
        '"1 1 2 500 1000" {"s0":"2 | 500"}',
        '"1 1 2 201 201" {"s0":"2 | 201"}',
        '"1 1 2 200 1000" {"s0":"2 | 200"}',
        '"1 0 0 0 0" {}',
        '"1 1 0 0 1000" {}',
        '"1 0 0 0 0" {}',
        '"1 1 0 0 1000" {}',
      ],
    ],
  ])('blocks longer each time, with mode "%s"', async (mode, expected) => {
    const results: unknown[] = [];
    for (const [ms, cost, charge] of [
      [0, 2, 1],
      [0, 1, 0],
      [0.5, 1, 1],
      [50, 1, 1],
      [99, 0, 1],
      [100, 1, 0],
      [100, 3, 1],
      [300, 1, 1],
      [500, 3, 1],
      [799, 1, 1],
      [800, 3, 1],
      [1_599, 1, 0],
      [1_600, 3, 1],
      [2_199, 0, 1],
      [2_200, 3, 1],
    ] as const) {
      results.push((await run([blocks(mode), String(cost)], ms, charge)).map((one) => JSON.stringify(one)).join(' '));
    }
    expect(results).toEqual(expected);
  });

  it.each([
    [
      'in force',
      `${NOW + 40}:3`,
      540,
      [
        '"0 2 0 40 40" {"p0":"1800000000040:3 | 540"}',
        '"0 2 0 40 1000" {"p0":"1800000000040:3 | 540"}',
        '"0 2 0 40 40" {"p0":"1800000000040:3 | 540"}',
        '"0 2 0 40 40" {"p0":"1800000000040:3 | 540"}',
      ],
    ],
    [
      'that ends now',
      `${NOW}:3`,
      500,
      [
        '"1 0 1 1000 1000" {"p0":"1800000000000:3 | 500","s0":"1 | 1000"}',
        '"0 2 0 300 1000" {"p0":"1800000000300:4 | 800"}',
        '"0 2 0 300 300" {"p0":"1800000000300:4 | 800"}',
        '"1 0 1 1000 1000" {"p0":"1800000000000:3 | 500","s0":"1 | 1000"}',
      ],
    ],
    [
      'that is forgotten now',
      `${NOW - 500}:3`,
      500,
      [
        '"1 0 1 1000 1000" {"p0":"1799999999500:3 | 500","s0":"1 | 1000"}',
        '"0 2 0 100 1000" {"p0":"1800000000100:1 | 600"}',
        '"0 2 0 100 100" {"p0":"1800000000100:1 | 600"}',
        '"1 0 1 1000 1000" {"p0":"1799999999500:3 | 500","s0":"1 | 1000"}',
      ],
    ],
    [
      'that is remembered',
      `${NOW - 499}:3`,
      500,
      [
        '"1 0 1 1000 1000" {"p0":"1799999999501:3 | 500","s0":"1 | 1000"}',
        '"0 2 0 300 1000" {"p0":"1800000000300:4 | 800"}',
        '"0 2 0 300 300" {"p0":"1800000000300:4 | 800"}',
        '"1 0 1 1000 1000" {"p0":"1799999999501:3 | 500","s0":"1 | 1000"}',
      ],
    ],
    [
      'of the longest time',
      `${NOW + LONGEST_MS}:3`,
      2 * LONGEST_MS,
      [
        '"0 2 0 34560000000 34560000000" {"p0":"1834560000000:3 | 34560000501"}',
        '"0 2 0 34560000000 34560000000" {"p0":"1834560000000:3 | 34560000501"}',
        '"0 2 0 34560000000 34560000000" {"p0":"1834560000000:3 | 34560000501"}',
        '"0 2 0 34560000000 34560000000" {"p0":"1834560000000:3 | 69120000000"}',
      ],
    ],
    [
      'that is too long',
      `${NOW + LONGEST_MS + 1}:3`,
      500,
      [
        '"1 0 1 1000 1000" {"p0":"1834560000001:3 | 500","s0":"1 | 1000"}',
        '"0 2 0 100 1000" {"p0":"1800000000100:1 | 600"}',
        '"0 2 0 100 100" {"p0":"1800000000100:1 | 600"}',
        '"1 0 1 1000 1000" {"p0":"1834560000001:3 | 500","s0":"1 | 1000"}',
      ],
    ],
    [
      'of many strikes',
      `${NOW - 1}:99999999`,
      500,
      [
        '"1 0 1 1000 1000" {"p0":"1799999999999:99999999 | 500","s0":"1 | 1000"}',
        '"0 2 0 300 1000" {"p0":"1800000000300:1001 | 800"}',
        '"0 2 0 300 300" {"p0":"1800000000300:1001 | 800"}',
        '"1 0 1 1000 1000" {"p0":"1799999999999:99999999 | 500","s0":"1 | 1000"}',
      ],
    ],
    [
      'without a TTL',
      `${NOW + 40}:3`,
      undefined,
      [
        '"0 2 0 40 40" {"p0":"1800000000040:3 | 541"}',
        '"0 2 0 40 1000" {"p0":"1800000000040:3 | 541"}',
        '"0 2 0 40 40" {"p0":"1800000000040:3 | 541"}',
        '"0 2 0 40 40" {"p0":"1800000000040:3 | 34560000041"}',
      ],
    ],
    [
      'without a TTL, that has ended',
      `${NOW - 40}:3`,
      undefined,
      [
        '"1 0 1 1000 1000" {"p0":"1799999999960:3 | 501","s0":"1 | 1000"}',
        '"0 2 0 300 1000" {"p0":"1800000000300:4 | 800"}',
        '"0 2 0 300 300" {"p0":"1800000000300:4 | 800"}',
        '"1 0 1 1000 1000" {"p0":"1799999999960:3 | 34560000001","s0":"1 | 1000"}',
      ],
    ],
    [
      'of another form',
      'x',
      undefined,
      [
        '"1 0 1 1000 1000" {"p0":"x | 501","s0":"1 | 1000"}',
        '"0 2 0 100 1000" {"p0":"1800000000100:1 | 600"}',
        '"0 2 0 100 100" {"p0":"1800000000100:1 | 600"}',
        '"1 0 1 1000 1000" {"p0":"x | 34560000001","s0":"1 | 1000"}',
      ],
    ],
  ])('reads a block %s', async (_, value, ttl, expected) => {
    const put = () => states.put('SET', 'p0', value, ...(ttl === undefined ? [] : ['PX', ttl]));
    const results: unknown[] = [];
    for (const [rule, cost] of [
      [blocks(''), '1'],
      [blocks(''), '3'],
      [blocks('fresh'), '3'],
      ['fixed-window:2:1000:2::', '1'],
    ] as const) {
      put();
      states.put('DEL', 's0');
      results.push((await run([rule, cost])).map((one) => JSON.stringify(one)).join(' '));
    }
    expect(results).toEqual(expected);
  });

  it('reset: deletes counter and block', async () => {
    const clear = (windowMs: number) => states.call(reset, { windowMs }, { state: 's0', penalty: 'p0' });
    expect(await states.after(clear(1_000))).toEqual([0, {}]);
    const results: unknown[] = [];
    for (const [counter, windowMs] of [
      ['5', 1_000],
      ['5', 0],
      ['reset:0', 1_000],
      ['reset:1', 1_000],
    ] as const) {
      states.put('SET', 's0', counter, 'PX', 700);
      states.put('SET', 'p0', 'x');
      results.push(await states.after(clear(windowMs)));
    }
    expect(results).toEqual([
      [2, { s0: 'reset:0 | 1000' }],
      [2, {}],
      [1, { s0: 'reset:0 | 700' }],
      [2, { s0: 'reset:0 | 1000' }],
    ]);
  });

  it('read-windows: reads counters only', async () => {
    states.put('SET', 'a', 5, 'PX', 700);
    states.put('SET', 'b', 5);
    states.put('SET', 'c', 'reset:5', 'PX', 700);
    states.put('ZADD', 'd', 1, 'total');
    const counters = ['a', 'b', 'c', 'd', 'none'];
    expect(await states.call(readWindows, {}, { counters })).toEqual([NOW + 700, 700, -1, -1, -2, -2, -2, -2, -2, -2]);
  });

  it('refund: refunds each rule its hits', async () => {
    const rules = ['fixed-window:5:1000:5::', '3', 'token-bucket:5:1000:5::', '2'];
    await run(rules);
    const args = { rules: [rules[0], '1', String(NOW + 1_000), rules[2], '1', String(NOW * 1_000)] };
    expect(await states.after(states.call(refund, args, { states: ['s0', 's1'] }))).toEqual([
      [1, 1],
      { s0: '2 | 1000', s1: '1:1800000000000000 | 201' },
    ]);
  });
});
