import { setImmediate as turn } from 'node:timers/promises';
import type { RedisNode } from '../src/connection/port';
import { Call } from '../src/group/call';
import { Lane, type LaneHost } from '../src/group/lane';
import { GroupPace } from '../src/group/pace';
import { append } from './support';

const node = { id: 'node' } as RedisNode;

/** A call that notes how it was settled. */
function callOf(chars: number, { expiresAt = Infinity, keys = 1, args = 0 } = {}): Call {
  const none = (): void => undefined;
  const call = new Call(append, expiresAt, undefined, none, none);
  return Object.assign(call, { chars, keys: Array<string>(keys).fill('k'), args: Array<string>(args).fill('a') });
}

/** A lane whose groups are kept by the test instead of being sent. */
function laneOf({ maxCalls = 4, maxChars = 100, maxInFlight = 1_000 } = {}) {
  const pace = new GroupPace(maxCalls);
  const groups: (readonly Call[])[] = [];
  const released: Lane[] = [];
  const state = { connected: true };
  const host: LaneHost = {
    pace,
    maxChars,
    open: (slot) => (state.connected && slot === 7 ? node : undefined),
    send: (to, calls) => {
      expect(to).toBe(node);
      groups.push(calls);
    },
    release: (lane) => released.push(lane),
  };
  const lane = new Lane(host, 'id', 7, undefined, maxInFlight);
  const submit = (...calls: Call[]): void => calls.forEach((call) => lane.submit(call));
  const sizes = (): number[] => groups.map(({ length }) => length);
  return { lane, pace, groups, released, state, submit, sizes };
}

describe('the queue of a script and slot', () => {
  it('sends a call at once while nothing is in flight', () => {
    const { lane, submit, groups } = laneOf();
    const call = callOf(1);
    expect([lane.idle, lane.groupsInFlight]).toEqual([true, 0]);
    submit(call);
    expect([groups, lane.idle, lane.groupsInFlight]).toEqual([[[call]], false, 1]);
    lane.ended(groups[0] as Call[]);
    expect([lane.idle, lane.groupsInFlight]).toEqual([true, 0]);
    submit(callOf(1));
    expect(groups).toHaveLength(2);
  });

  it('sends the calls of one turn together, in their order', async () => {
    const { submit, groups, sizes } = laneOf();
    const [one, two, three] = [callOf(1), callOf(1), callOf(1)];
    submit(one, two, three);
    expect(sizes()).toEqual([1]);
    await turn();
    expect(groups).toEqual([[one], [two, three]]);
  });

  it('sends a group as soon as it is full', async () => {
    const { submit, sizes } = laneOf();
    submit(...Array.from({ length: 4 }, () => callOf(1)));
    expect(sizes()).toEqual([1]);
    submit(callOf(1));
    expect(sizes()).toEqual([1, 4]);
    submit(callOf(1));
    expect(sizes()).toEqual([1, 4]);
    await turn();
    expect(sizes()).toEqual([1, 4, 1]);
  });

  it('sends a group as soon as it has enough characters', async () => {
    const { submit, sizes } = laneOf();
    submit(callOf(1), callOf(50), callOf(49));
    expect(sizes()).toEqual([1]);
    submit(callOf(1));
    expect(sizes()).toEqual([1, 3]);
    submit(callOf(60), callOf(41));
    // Both together have one character too many. The second no longer fills a group.
    expect(sizes()).toEqual([1, 3, 1, 1]);
    await turn();
    expect(sizes()).toEqual([1, 3, 1, 1]);
  });

  it('sends a call that is larger than a group alone', async () => {
    const { submit, sizes } = laneOf();
    submit(callOf(1), callOf(1_000));
    expect(sizes()).toEqual([1, 1]);
    submit(callOf(5), callOf(95), callOf(5));
    await turn();
    expect(sizes()).toEqual([1, 1, 2, 1]);
  });

  it('puts at most 4,096 keys and arguments into a group', async () => {
    const { submit, sizes } = laneOf();
    submit(callOf(1), callOf(1, { keys: 96, args: 2_000 }), callOf(1, { keys: 2_000 }), callOf(1, { args: 2 }));
    await turn();
    expect(sizes()).toEqual([1, 2, 1]);
    const other = laneOf();
    other.submit(callOf(1), callOf(1, { keys: 5_000 }), callOf(1));
    await turn();
    expect(other.sizes()).toEqual([1, 1, 1]);
  });

  it('does not send a lone call at once after a group of several has ended', async () => {
    const { lane, submit, groups, sizes } = laneOf();
    submit(callOf(1), callOf(1), callOf(1));
    await turn();
    for (const group of groups) lane.ended(group);
    submit(callOf(1));
    expect(sizes()).toEqual([1, 2]);
    await turn();
    expect(sizes()).toEqual([1, 2, 1]);
    lane.ended(groups[2] as Call[]);
    submit(callOf(1));
    expect(sizes()).toEqual([1, 2, 1, 1]);
  });

  it('keeps calls until a node is connected', async () => {
    const { lane, submit, groups, state } = laneOf();
    state.connected = false;
    submit(callOf(1), callOf(1));
    await turn();
    expect([groups, lane.idle]).toEqual([[], false]);
    state.connected = true;
    lane.pump();
    expect([groups.length, lane.groupsInFlight]).toEqual([1, 1]);
  });

  it('has at most so many calls in flight as it may', async () => {
    const { lane, submit, groups, sizes } = laneOf({ maxCalls: 2, maxInFlight: 3 });
    submit(...Array.from({ length: 9 }, () => callOf(1)));
    await turn();
    expect(sizes()).toEqual([1, 2]);
    lane.ended(groups[1] as Call[]);
    expect(sizes()).toEqual([1, 2, 2]);
    lane.ended(groups[0] as Call[]);
    expect([sizes(), lane.groupsInFlight]).toEqual([[1, 2, 2, 2], 2]);
    lane.ended(groups[2] as Call[]);
    lane.ended(groups[3] as Call[]);
    expect([sizes(), lane.groupsInFlight]).toEqual([[1, 2, 2, 2, 2], 1]);
  });

  it('waits for a reply with a group that is not full while Redis is busy and 4 groups are in flight', async () => {
    const { lane, pace, submit, groups, sizes } = laneOf();
    pace.answered(1, 0, 1);
    expect(pace.crowded).toBe(false);
    for (let i = 0; i < 4; i++) {
      submit(callOf(1));
      await turn();
    }
    submit(callOf(1));
    await turn();
    expect(sizes()).toEqual([1, 1, 1, 1, 1]);
    pace.answered(1, 10, 13);
    submit(callOf(1), callOf(1));
    await turn();
    expect([sizes(), pace.crowded]).toEqual([[1, 1, 1, 1, 1], true]);
    lane.pump();
    expect(sizes()).toHaveLength(5);
    submit(callOf(1), callOf(1));
    expect(sizes()).toEqual([1, 1, 1, 1, 1, 4]);
    submit(callOf(1));
    lane.ended(groups[1] as Call[]);
    lane.ended(groups[0] as Call[]);
    await turn();
    expect(sizes()).toHaveLength(6);
    lane.ended(groups[2] as Call[]);
    expect(sizes()).toHaveLength(6);
    await turn();
    expect(sizes()).toEqual([1, 1, 1, 1, 1, 4, 1]);
  });

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
