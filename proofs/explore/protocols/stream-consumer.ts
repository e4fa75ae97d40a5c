import type { Protocol } from '../engine/protocol';
import { invariants, observe, unsettled } from './stream-consumer-invariants';
import { type Consumer, type Settings, type StreamState } from './stream-consumer-state';
import { LEASE_MS, partition, newSession, openCall, stepsOf, movesOf } from './stream-consumer-steps';

export function streamConsumer(settings: Settings): Protocol<StreamState> {
  const { scenario, budgets, consumers, groups, messages, renewals = 0, isOpen = true, depth } = settings;
  return {
    name: 'stream-consumer',
    scenario,
    depth,
    about: `A publisher, and consumers of groups that take, handle, retry, dead-letter, renew, sweep and repair one partition. \
Calls are the library's definitions and keys. The model begins where Reader, Session and Settler decide what comes next: lost calls \
are repeated with their token, and a session that was lost gets another name.`,
    begin: (world) => {
      const state: StreamState = {
        budgets: { ...budgets },
        late: [],
        disturbed: false,
        toPublish: Object.entries(messages).map(([name, key]) => ({ name, key })),
        published: {},
        consumers: Object.fromEntries(
          Object.entries(consumers).map(([name, group]): [string, Consumer] => [
            name,
            { group, isOpen, life: 1, isNew: true, takes: 1, takingSince: 0, until: 0, held: [], renewals },
          ]),
        ),
        handled: Object.fromEntries(groups.map((group) => [group, []])),
        sent: Object.fromEntries(groups.map((group) => [group, []])),
      };
      for (const group of isOpen ? groups : []) world.call(openCall(group));
      return state;
    },
    steps: (state, world) => stepsOf(state, settings, world),
    moves: (state, world) => movesOf(state, settings, world),
    deadlines: (state, world) => [
      // Left alone, a session that lives takes again in time. Its lease does not end, so only a repair finds what it forgot.
      ...Object.values(state.consumers).map(({ until }) => {
        const takesAtMs = until - LEASE_MS / 2;
        return state.budgets.time === undefined && takesAtMs > world.nowMs ? takesAtMs : until;
      }),
      ...groups.flatMap((group) => {
        const { sessions, due } = partition.of(group);
        return [sessions, due].flatMap((key) =>
          (world.read('ZRANGE', key, '0', '-1', 'WITHSCORES') as string[]).map(Number),
        );
      }),
    ],
    actors: Object.keys(consumers),
    crash: (state, actor) => {
      const consumer = state.consumers[actor] as Consumer;
      if (consumer.isNew && consumer.takingSince === 0) return false;
      newSession(consumer);
      consumer.takingSince = 0;
      return true;
    },
    evictable: (key) => key !== partition.stream && !key.includes(':dead:') && !key.includes(':operation:'),
    observe: (state, world) => observe(state, settings, partition, world),
    invariants: invariants(settings, partition),
    unsettled: (state, world) => unsettled(state, settings, partition, world),
  };
}

const pair = { groups: ['mail'], consumers: { A: 'mail', B: 'mail' } };
const all = { time: 4, lost: 1, late: 1, crash: 1, repair: 1 };

export const streamConsumerScenarios = [
  streamConsumer({
    scenario: 'two groups',
    groups: ['mail', 'audit'],
    consumers: { A: 'mail', B: 'mail', C: 'audit' },
    messages: { m1: '', m2: '' },
    failures: false,
    budgets: all,
    depth: 9,
  }),
  streamConsumer({
    scenario: 'takeover, retries and dead letters',
    ...pair,
    messages: { m1: '', m2: '' },
    renewals: 1,
    budgets: { ...all, replay: 1 },
    depth: 10,
  }),
  streamConsumer({
    scenario: 'ordered',
    ...pair,
    messages: { m1: 'k', m2: 'k', m3: 'l' },
    ordered: true,
    budgets: { ...all, replay: 1 },
    depth: 10,
  }),
  streamConsumer({
    scenario: 'ordered, and a stranger trims',
    ...pair,
    messages: { m1: 'k', m2: 'k', m3: 'k' },
    ordered: true,
    budgets: { time: 3, crash: 1, trim: 1, repair: 1 },
    depth: 10,
  }),
  streamConsumer({
    scenario: 'an operator deletes consumers',
    groups: ['mail', 'audit'],
    consumers: { A: 'mail', B: 'mail', C: 'audit' },
    messages: { m1: '', m2: '' },
    budgets: { time: 3, crash: 1, tidy: 1, repair: 1 },
    depth: 9,
  }),
  streamConsumer({
    scenario: 'a new partition',
    groups: ['mail', 'audit'],
    consumers: { A: 'mail', B: 'audit' },
    messages: { m1: '', m2: '' },
    isOpen: false,
    failures: false,
    budgets: { time: 3, lost: 1, crash: 1, repair: 1 },
    depth: 11,
  }),
  streamConsumer({
    scenario: 'eviction and failover',
    ...pair,
    messages: { m1: 'k', m2: 'k' },
    ordered: true,
    budgets: { time: 3, evict: 1, failover: 1, repair: 1 },
    depth: 9,
  }),
];
