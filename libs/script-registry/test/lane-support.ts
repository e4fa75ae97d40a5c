import type { RedisNode } from '../src/connection/port';
import { Call } from '../src/group/call';
import { Lane, type LaneHost } from '../src/group/lane';
import { GroupPace } from '../src/group/pace';
import { append } from './support';

const node = { id: 'node' } as RedisNode;

/** A call that notes how it was settled. */
export function callOf(chars: number, { expiresAt = Infinity, keys = 1, args = 0 } = {}): Call {
  const none = (): void => undefined;
  const call = new Call(append, expiresAt, undefined, none, none);
  return Object.assign(call, { chars, keys: Array<string>(keys).fill('k'), args: Array<string>(args).fill('a') });
}

/** A lane whose groups are kept by the test instead of being sent. */
export function laneOf({ maxCalls = 4, maxChars = 100, maxInFlight = 1_000 } = {}) {
  const pace = new GroupPace(maxCalls);
  const groups: (readonly Call[])[] = [];
  const released: Lane[] = [];
  const state = { connected: true };
  const host: { -readonly [K in keyof LaneHost]: LaneHost[K] } = {
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
  return { lane, host, pace, groups, released, state, submit, sizes };
}
