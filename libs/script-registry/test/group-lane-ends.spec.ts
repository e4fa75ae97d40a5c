import { setImmediate as turn } from 'node:timers/promises';
import type { Call } from '../src/group/call';
import { callOf, laneOf } from './lane-support';

describe('calls in the queue of a script and slot that end early', () => {
  it('rejects what is due, in flight or waiting, and returns the next deadline', async () => {
    const { lane, submit, groups } = laneOf();
    const inFlight = callOf(1, { expiresAt: 10 });
    const settled = callOf(1, { expiresAt: 5 });
    const [due, later, last] = [10, 12, 11].map((expiresAt) => callOf(60, { expiresAt })) as [Call, Call, Call];
    submit(inFlight, due);
    settled.settled = true;
    submit(settled);
    const rejected: Call[] = [];
    expect(lane.expire(9, (call) => rejected.push(call))).toBe(10);
    expect(rejected).toEqual([]);
    expect(lane.expire(10, (call) => rejected.push(call))).toBe(Infinity);
    expect(rejected).toHaveLength(2);
    expect(rejected[0]).toBe(inFlight);
    expect(rejected[1]).toBe(due);
    await turn();
    // The characters of the call that left no longer count.
    groups.length = 0;
    submit(last);
    expect(groups).toEqual([]);
    submit(later);
    expect(groups).toHaveLength(2);
    expect(lane.expire(1, (call) => rejected.push(call))).toBe(10);
  });

  it('never sends a waiting call that was due', async () => {
    const { lane, submit, groups } = laneOf();
    const [first, due, next] = [callOf(1), callOf(1, { expiresAt: 10 }), callOf(1)];
    submit(first, due);
    lane.expire(10, (call) => call.reject(new Error('late')));
    submit(next);
    await turn();
    expect(groups).toEqual([[first], [next]]);
    expect(groups.flat()).not.toContain(due);
  });

  it('counts the characters of the calls that wait after others were due', () => {
    const { lane, submit, sizes } = laneOf();
    submit(callOf(1), callOf(1, { expiresAt: 10 }), callOf(60));
    lane.expire(10, (call) => call.reject(new Error('late')));
    expect(sizes()).toEqual([1]);
    submit(callOf(40));
    expect(sizes()).toEqual([1, 2]);
  });

  it('rejects the calls of the groups that have not ended, whichever ended first', async () => {
    const { lane, submit, groups } = laneOf();
    const [one, two] = [callOf(1), callOf(1)];
    submit(one);
    submit(two);
    await turn();
    lane.ended(groups[1] as Call[]);
    const rejected: Call[] = [];
    lane.drain((call) => rejected.push(call));
    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toBe(one);
  });

  it('rejects all calls when it is drained, and asks its host to release it', () => {
    const { lane, submit, released } = laneOf();
    const calls = [callOf(1), callOf(1), callOf(1)];
    submit(...calls);
    const rejected: Call[] = [];
    lane.drain((call) => rejected.push(call));
    expect(rejected).toEqual(calls);
    lane.release();
    expect(released).toEqual([lane]);
    expect([lane.id, lane.slot]).toEqual(['id', 7]);
  });
});
