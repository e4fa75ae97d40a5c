import { checkHistory } from '../check-history';
import type { Recorded } from '../record/journal';

const PLAN = { key: 'k', subject: 'lock', flavour: 'try', resend: true };

/** An operation of a client. The clocks show the same time, so a fence of n ms is given at n ms. */
function recorded(
  id: string,
  client: string,
  input: object,
  [call, at]: readonly [number, number],
  end: object,
): Recorded {
  return { key: 'k', id, client, input, call, end: { at, wallMs: at, closes: 0, ...end } as Recorded['end'] };
}

/** w1 forces the lock, and does not know the outcome. Then its connection is closed while it acquires the lock. Others get the lock thrice. */
function problemWith(closes: number): string | undefined {
  const acquired = (n: number, at: number): Recorded =>
    recorded(`w${n}-1`, `w${n}.0.0`, { op: 'acquire' }, [at - 5, at + 5], {
      how: 'returned',
      output: { fence: at * 1_000 },
    });
  const busy = { how: 'returned', output: { says: 'busy' }, closes };
  return checkHistory(PLAN, [
    recorded('w1-1', 'w1.0.0', { op: 'force' }, [0, 100], { how: 'unknown' }),
    recorded('w1-2', 'w1.0.1', { op: 'acquire' }, [110, 900], busy),
    ...[20, 200, 400, 600].map((at, index) => acquired(index + 2, at)),
  ]).problem;
}

describe('a call whose outcome is unknown', () => {
  it('may take effect at each later close of its connection, since ioredis sends it again', () => {
    expect(problemWith(2)).toBeUndefined();
  });

  it('may take effect twice if its connection was not seen to close', () => {
    expect(problemWith(0)).toBe('No order of the operations explains what w5-1 returned.');
  });
});
