import { Decision } from '../src/limiter/decision';
import { PendingDecisions } from '../src/rules/results';

describe('decisions that wait for their handler', () => {
  const find = (): undefined => undefined;
  const list = (): undefined => undefined;
  const [first, second, other] = [1, 2, 3].map(() => Decision.without('none', true)) as [Decision, Decision, Decision];

  it('are taken once, the oldest of the handler first', () => {
    const pending = new PendingDecisions();
    const call = {};
    pending.add(call, list, other);
    pending.add(call, find, first);
    pending.add(call, find, second);
    const taken = [1, 2, 3].map(() => pending.take(call, find));
    expect(taken[0]).toBe(first);
    expect(taken[1]).toBe(second);
    expect(taken[2]).toBeUndefined();
    expect(pending.take(call, list)).toBe(other);
  });

  it('belong to one call', () => {
    const pending = new PendingDecisions();
    const call = {};
    expect(pending.take(call, find)).toBeUndefined();
    pending.add(call, find, first);
    expect(pending.take({}, find)).toBeUndefined();
    expect(pending.take(call, find)).toBe(first);
  });
});
