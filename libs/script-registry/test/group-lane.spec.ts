import { setImmediate as turn } from 'node:timers/promises';
import type { Call } from '../src/group/call';
import { callOf, laneOf } from './lane-support';

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

  it('does not send a lone call at once if a group of several ended last', async () => {
    const { lane, submit, groups, sizes } = laneOf();
    submit(callOf(1), callOf(1), callOf(1));
    await turn();
    submit(callOf(1));
    await turn();
    expect(sizes()).toEqual([1, 2, 1]);
    for (const i of [0, 2, 1]) lane.ended(groups[i] as Call[]);
    submit(callOf(1));
    expect(sizes()).toEqual([1, 2, 1]);
    await turn();
    expect(sizes()).toEqual([1, 2, 1, 1]);
  });

  it('keeps calls that are made when a group leaves for the next turn', async () => {
    const { host, submit, sizes } = laneOf();
    const { send } = host;
    host.send = (...group) => {
      send(...group);
      if (group[1].length === 2) void Promise.resolve().then(() => submit(callOf(1)));
    };
    submit(callOf(1), callOf(1), callOf(1));
    await turn();
    expect(sizes()).toEqual([1, 2]);
    await turn();
    expect(sizes()).toEqual([1, 2, 1]);
  });

  it('keeps the calls of a turn together, if a group ended before them', async () => {
    const { lane, submit, groups, sizes } = laneOf();
    submit(callOf(1), callOf(1), callOf(1));
    await turn();
    setImmediate(() => submit(callOf(1)));
    for (const group of groups) lane.ended(group);
    setImmediate(() => submit(callOf(1)));
    await turn();
    await turn();
    expect(sizes()).toEqual([1, 2, 2]);
  });

  it('keeps the calls of a turn together, if a reply lets them leave', async () => {
    const { lane, submit, groups, sizes } = laneOf();
    for (let i = 0; i < 4; i++) {
      submit(callOf(1));
      await turn();
    }
    submit(callOf(1));
    setImmediate(() => submit(callOf(1)));
    lane.ended(groups[0] as Call[]);
    await turn();
    await turn();
    expect(sizes()).toEqual([1, 1, 1, 1, 2]);
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
});
