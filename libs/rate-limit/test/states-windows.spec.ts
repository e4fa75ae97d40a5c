import { NOW, NOW_US, ScriptStates } from '../../../test/support/script-states';
import { consume, rateLimitScripts, refund } from '../src/rate-limit.scripts';
import { withoutTime } from './support';

/** [ms after NOW, what is called, reply and state afterwards] */
type Row = readonly [ms: number, action: string, expected: string];

describe('each algorithm, step by step at times of which all is known,', () => {
  const states = new ScriptStates(rateLimitScripts);
  let rule = '';
  /**
   * Actions: 'charge COST', 'look COST', 'refund COST WHAT', 'put VALUE TTL' for a string, 'zput ...' for a sorted set. Returns the
   * reply of `consume`: allowed, verdict, hits, ms until no hit counts, ms to the next or a retry; or refunded hits; and the state.
   */
  const act = async (ms: number, action: string): Promise<string> => {
    states.clock.set(NOW + ms);
    const [verb, ...args] = action.split(' ') as [string, ...string[]];
    if (verb === 'put') {
      const [value = '', ttl] = args;
      states.put('DEL', 'state');
      states.put('SET', 'state', value, ...(ttl === undefined ? [] : ['PX', ttl]));
      return 'ok';
    }
    if (verb === 'zput') {
      states.put('DEL', 'state');
      states.put('ZADD', 'state', ...args);
      return 'ok';
    }
    const cost = args[0] ?? '';
    if (verb === 'refund') {
      const names = { states: ['state'] };
      const [given, keys] = await states.after(states.call(refund, { rules: [rule, cost, args[1]] }, names));
      return `${String(given)}; ${keys.state ?? 'none'}`;
    }
    const call = states.call(
      consume,
      { charge: verb === 'charge' ? 1 : 0, rules: [rule, cost] },
      { keys: ['state', 'penalty'] },
    );
    const [reply, keys] = await states.after(call);
    return `${withoutTime(reply)}; ${keys.state ?? 'none'}`;
  };

  const check = async (parameters: string, rows: readonly Row[]) => {
    rule = parameters;
    for (const [ms, action, expected] of rows) {
      const result = await act(ms, action);
      expect(result).toEqual(expected);
    }
  };

  it('fixed-window', () =>
    check('fixed-window:3:1000:3::', [
      [0, 'look 1', '1 0 0 0 0; none'],
      [0.5, 'charge 2', '1 0 2 1000 1000; 2 | 1000'],
      [1, 'charge 1', '1 0 3 999 999; 3 | 999'],
      [1, 'look 0', '1 0 3 999 999; 3 | 999'],
      [2, 'charge 1', '0 1 3 998 998; 3 | 998'],
      [2, 'look 4', '0 1 3 998 1000; 3 | 998'],
      [999.9, 'charge 1', '0 1 3 1 1; 3 | 1'],
      [999, `refund 1 ${NOW + 1001}`, '0; 3 | 1'],
      [999, `refund 1 ${NOW + 1000}`, '1; 2 | 1'],
      [999, `refund 1 -${NOW + 1001}`, '0; 2 | 1'],
      [999, `refund 1 -${NOW + 1000}`, '1; 1 | 1'],
      [999, `refund 5 ${NOW + 1000}`, '1; none'],
      [999, `refund 5 ${NOW + 1000}`, '0; none'],
      // A window after a reset: 2^51 and its hits.
      [999, 'put 2251799813685250 500', 'ok'],
      [999, 'look 1', '1 0 2 500 500; 2251799813685250 | 500'],
      [999, 'charge 1', '1 0 3 500 500; 2251799813685251 | 500'],
      [999, `refund 1 ${NOW + 1499}`, '1; 2251799813685250 | 500'],
      [999, `refund 9 -${NOW + 1499}`, '0; 2251799813685250 | 500'],
      [999, `refund 9 ${NOW + 1499}`, '2; 2251799813685248 | 500'],
      [999, 'look 1', '1 0 0 0 0; 2251799813685248 | 500'],
      [1000, 'put 2251799813685248', 'ok'],
      [1000, 'look 1', '1 0 0 0 0; 2251799813685248 | 1001'],
      [1000, 'put 2251799813685248 9000', 'ok'],
      [1000, 'look 1', '1 0 0 0 0; 2251799813685248 | 1001'],
      [1000, 'put 2251799813685248 1500', 'ok'],
      [1000, 'charge 1', '1 0 1 1000 1000; 2251799813685249 | 1000'],
      [1000, 'put 2', 'ok'],
      [1000, 'look 1', '1 0 2 1000 1000; 2 | 1001'],
      [1000, 'put 2 1000', 'ok'],
      [1000, 'charge 1', '1 0 3 1000 1000; 3 | 1000'],
      [1000, 'put 2 1001', 'ok'],
      [1000, 'look 1', '1 0 2 1000 1000; 2 | 1001'],
      [1000, 'put 2 2000', 'ok'],
      [1000, 'look 1', '1 0 2 1000 1000; 2 | 2000'],
      [1000, 'put 2 2001', 'ok'],
      [1000, 'look 1', '1 0 2 1000 1000; 2 | 1001'],
      [1000, 'put 2 3', 'ok'],
      [1003, 'look 1', '1 0 0 0 0; 2 | 0'],
      [1003, 'charge 1', '1 0 1 1000 1000; 1 | 1000'],
      [1004, 'put x5 500', 'ok'],
      [1004, 'look 1', '1 0 0 0 0; x5 | 500'],
      [1004, 'put reset5 500', 'ok'],
      [1004, 'charge 1', '1 0 1 1000 1000; 1 | 1000'],
      [1004, 'put 2251799813685247 500', 'ok'],
      [1004, 'look 1', '0 1 2251799813685247 500 500; 2251799813685247 | 500'],
      [1004, 'put 4503599627370495 500', 'ok'],
      [1004, 'look 1', '0 1 2251799813685247 500 500; 4503599627370495 | 500'],
      // Marked as blocked: 2^52 and more.
      [1004, 'put 4503599627370496 500', 'ok'],
      [1004, 'look 1', '1 0 0 0 0; 4503599627370496 | 500'],
      [1004, 'put 99999999999999999 500', 'ok'],
      [1004, 'charge 1', '1 0 1 1000 1000; 1 | 1000'],
      [1004, 'put 0 500', 'ok'],
      [1004, 'charge 0', '1 0 0 0 0; 0 | 500'],
      [1004, 'charge 3', '1 0 3 1000 1000; 3 | 1000'],
    ]));

  it('sliding-window', () =>
    check('sliding-window:5:1000:5::', [
      [0, 'look 1', '1 0 0 0 0; none'],
      [200.5, 'charge 2', '1 0 2 1800 1300; 1800000000:2:0 | 1800'],
      [300, 'charge 3', '1 0 5 1700 900; 1800000000:5:0 | 1700'],
      [300, 'charge 1', '0 1 5 1700 900; 1800000000:5:0 | 1700'],
      [300, 'look 0', '1 0 5 1700 900; 1800000000:5:0 | 1700'],
      [300, 'look 6', '0 1 5 1700 1000; 1800000000:5:0 | 1700'],
      [999, 'look 1', '0 1 5 1001 201; 1800000000:5:0 | 1001'],
      [1000, 'look 1', '0 1 5 1000 200; 1800000000:5:0 | 1000'],
      [1001, 'look 2', '0 1 5 999 399; 1800000000:5:0 | 999'],
      [1200, 'charge 1', '1 0 5 1800 200; 1800000001:1:5 | 1800'],
      [1200, 'look 1', '0 1 5 1800 200; 1800000001:1:5 | 1800'],
      [1399, 'look 1', '0 1 5 1601 1; 1800000001:1:5 | 1601'],
      [1400, 'look 1', '1 0 4 1600 200; 1800000001:1:5 | 1600'],
      [1401, 'charge 2', '0 1 4 1599 199; 1800000001:1:5 | 1599'],
      [1401, 'look 4', '0 1 4 1599 599; 1800000001:1:5 | 1599'],
      [1401, `refund 1 ${NOW_US + 1_200_000}`, '1; 1800000001:0:5 | 1599'],
      [1401, `refund 9 ${NOW_US + 999_999}`, '5; 1800000001:0:0 | 1599'],
      [1401, `refund 1 ${NOW_US - 1}`, '0; 1800000001:0:0 | 1599'],
      [1401, `refund 1 ${NOW_US + 2_000_000}`, '0; 1800000001:0:0 | 1599'],
      [1401, `refund 9 ${NOW_US + 1_000_000}`, '0; 1800000001:0:0 | 1599'],
      [1401, 'charge 4', '1 0 4 1599 849; 1800000001:4:0 | 1599'],
      [2001, 'look 1', '1 0 4 999 249; 1800000001:4:0 | 999'],
      [2500, `refund 1 ${NOW_US + 1_401_000}`, '1; 1800000001:3:0 | 500'],
      [2900, 'charge 1', '1 0 2 1100 100; 1800000002:1:3 | 1100'],
      [1900, 'look 1', '1 0 2 1100 100; 1800000002:1:3 | 2100'],
      [1900, 'charge 1', '1 0 3 1100 100; 1800000002:2:3 | 2100'],
      [900, 'look 1', '1 0 0 0 0; 1800000002:2:3 | 1'],
      [900, `refund 1 ${NOW_US + 2_900_000}`, '0; 1800000002:2:3 | 1'],
      [3999, 'look 1', '1 0 0 0 0; none'],
      [3999, `refund 1 ${NOW_US + 2_900_000}`, '0; none'],
      [4000, 'look 1', '1 0 0 0 0; none'],
      [0, 'put 1800000000:20000000000:30000000000 9000', 'ok'],
      [0, 'look 1', '0 1 20000000000 2000 2000; 1800000000:20000000000:30000000000 | 2001'],
      [0, 'put 1800000000:3:4 9000', 'ok'],
      [0, 'look 1', '0 1 7 2000 750; 1800000000:3:4 | 2001'],
      [0, 'look 3', '0 1 7 2000 1334; 1800000000:3:4 | 2001'],
      [600, 'look 1', '0 1 5 1400 150; 1800000000:3:4 | 1401'],
      [600, 'look 3', '0 1 5 1400 734; 1800000000:3:4 | 1401'],
      [601, 'look 3', '0 1 5 1399 733; 1800000000:3:4 | 1400'],
      [0, 'put 1800000000:0:1 9000', 'ok'],
      [0, 'look 5', '0 1 1 1000 1000; 1800000000:0:1 | 1001'],
      [1, 'look 5', '0 1 1 999 999; 1800000000:0:1 | 1000'],
      [999, 'look 5', '0 1 1 1 1; 1800000000:0:1 | 2'],
      [999.9, 'look 1', '1 0 1 1 1; 1800000000:0:1 | 2'],
      [0, 'put 1799999998:3:4 9000', 'ok'],
      [0, 'look 1', '1 0 0 0 0; 1799999998:3:4 | 1'],
      [0, `refund 1 ${NOW_US - 2_000_000}`, '0; 1799999998:3:4 | 1'],
      [0, 'put 1799999999:5:4 9000', 'ok'],
      [0, 'look 1', '0 1 5 1000 200; 1799999999:5:4 | 1001'],
      [0, `refund 1 ${NOW_US - 1}`, '1; 1799999999:4:4 | 1000'],
      [0, 'put x 500', 'ok'],
      [0, 'charge 1', '1 0 1 2000 2000; 1800000000:1:0 | 2000'],
      [0, 'put 1:2 500', 'ok'],
      [0, `refund 1 ${NOW_US}`, '0; 1:2 | 500'],
    ]));

  it.each(['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'])('%s with a limit of 0', async (name) => {
    rule = `${name}:0:1000:0::`;
    const results = [await act(0, 'charge 1'), await act(0, 'look 0'), await act(0, 'charge 0')];
    expect(results).toEqual(['0 1 0 0 1000; none', '1 0 0 0 0; none', '1 0 0 0 0; none']);
  });
});
