import type { Random } from '../engine/random';
import type { Lib } from '../engine/world';

export interface Settings {
  readonly leaseMs: number;
  readonly partitions: number;
  /** True: each later life of a process has one partition more. */
  readonly grows: boolean;
  readonly ordered: boolean;
  /** Settled messages that each partition keeps; 0 if they are deleted at once. */
  readonly retained: number;
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly timeoutMs: number;
  readonly drainMs: number;
  readonly keys: number;
  readonly groups: readonly string[];
  /** True: consumers are started after the boot, one group after the other. */
  readonly late: boolean;
  readonly groupsApartMs: number;
  /** True: each process has the consumers of one group, as if it were another service. */
  readonly isApart: boolean;
}

export interface Payload {
  /** Number of the message. */
  readonly n: number;
  readonly pieces: readonly number[];
  /** Attempts that fail before one does not. */
  readonly fails: number;
  readonly ending: 'return' | 'later' | 'dead';
  /** True: the handler ignores its signal. */
  readonly deaf: boolean;
}

export interface Operation {
  readonly kind: 'publish' | 'many' | 'replay' | 'drop' | 'look';
  readonly group: string;
  readonly key?: string;
  readonly operation?: string;
  readonly count: number;
  readonly message: Omit<Payload, 'n'>;
}

/** Draws how a handler ends. Two retries of one message in a row are common. */
function endingOf(random: Random): Payload['ending'] {
  const ending = random.chance(0.75) ? 'return' : random.pick(['later', 'later', 'dead'] as const);
  return random.named('later').chance(0.3) ? 'later' : ending;
}

/** Work of users of stream-consumer, and faults that they meet. */
export const work: Omit<Lib<Settings, Operation>, 'start'> = {
  name: 'stream-consumer',
  faults: {
    kill: 6,
    close: 6,
    stop: 8,
    cut: 20,
    deaf: 4,
    slow: 8,
    hold: 16,
    refuse: 6,
    flush: 4,
    evict: 2,
    stranger: 4,
    'redis-clock': 3,
    clock: 3,
    failover: 2,
    'redis-down': 3,
  },
  together: [
    ['hold'],
    ['hold'],
    ['redis-down'],
    ['cut', 'close'],
    ['hold', 'close'],
    ['cut'],
    ['kill', 'deaf'],
    ['failover'],
    ['stranger'],
    ['stranger', 'kill'],
  ],
  hurried: { leaseMs: 1_600, drainMs: 10 },
  chains: [['refuse'], ['refuse'], ['redis-down', 'close'], ['close', 'redis-down']],
  settings: (random: Random) => ({
    leaseMs: random.chance(0.8) ? random.magnitude(100, 3_000) : random.integer(2_000, 6_000),
    partitions: random.integer(1, 3),
    grows: random.chance(0.35),
    ordered: random.chance(0.5),
    retained: random.chance(0.3) ? random.integer(1, 10) : 0,
    concurrency: random.magnitude(1, 12),
    attempts: random.integer(1, 4),
    backoffMs: random.magnitude(5, 500),
    timeoutMs: random.chance(0.3) ? random.magnitude(50, 1_000) : 20_000,
    // Some apps close before the replies to their calls are there.
    drainMs: Math.min(random.magnitude(10, 3_000), random.named('drain').pick([10, 40, 3_000, 3_000, 3_000])),
    keys: random.magnitude(1, 8),
    groups: random.chance(0.5) ? ['g1'] : ['g1', 'g2'],
    late: random.chance(0.4),
    groupsApartMs: random.magnitude(1, 2_000),
    isApart: random.named('apart').chance(0.3),
  }),
  operation: (random, { leaseMs, keys, groups }) => ({
    kind: random.pick([
      'publish',
      'publish',
      'publish',
      'publish',
      'publish',
      'many',
      'many',
      'replay',
      'replay',
      'drop',
      'look',
    ]),
    group: random.pick(groups),
    ...(random.chance(0.7) && { key: `k${random.integer(1, keys)}` }),
    ...(random.chance(0.2) && { operation: `o${random.integer(1, 10)}` }),
    count: random.integer(2, 4),
    message: {
      pieces: Array.from({ length: random.chance(0.5) ? random.integer(0, 2) : random.integer(2, 6) }, () =>
        random.work(leaseMs),
      ),
      fails: random.chance(0.3) ? random.integer(1, 5) : 0,
      ending: endingOf(random),
      deaf: random.chance(0.2),
    },
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 10 * leaseMs + 40_000,
};

/** The part of it that settles messages, and closes meanwhile: many short messages. */
export const closes: Omit<Lib<Settings, Operation>, 'start'> = {
  ...work,
  name: 'stream-closes',
  faults: { close: 8, cut: 12, hold: 8, slow: 6, refuse: 4, 'redis-down': 3, kill: 2 },
  together: [['close'], ['cut', 'close'], ['hold', 'close'], ['refuse', 'close'], ['redis-down', 'close']],
  chains: [
    ['cut', 'close'],
    ['refuse', 'close'],
    ['redis-down', 'close'],
    ['close', 'redis-down'],
  ],
  scripts: /^(ack|retry|finish) /,
  settings: (random) => ({
    ...work.settings(random),
    leaseMs: random.integer(1_000, 3_000),
    partitions: 1,
    grows: false,
    concurrency: random.integer(2, 12),
    timeoutMs: 20_000,
    drainMs: random.pick([10, 40, 200, 1_000]),
    groups: ['g1'],
    isApart: false,
  }),
  operation: (random, settings) => ({
    ...work.operation(random, settings),
    kind: random.pick(['publish', 'many']),
    message: { pieces: [random.magnitude(1, 200)], fails: random.pick([0, 0, 0, 1]), ending: 'return', deaf: false },
  }),
};

/** The part of it in which all groups must settle a message before it is deleted: services with a group each, and partitions that grow. */
export const groups: Omit<Lib<Settings, Operation>, 'start'> = {
  ...work,
  name: 'stream-groups',
  faults: { kill: 8, close: 4, stop: 6, deaf: 6, slow: 4, hold: 4, evict: 3, failover: 2, cut: 4, flush: 2 },
  together: [['kill'], ['kill'], ['kill', 'stop'], ['kill', 'deaf'], ['close', 'stop'], ['evict', 'deaf']],
  chains: [
    ['kill', 'kill'],
    ['stop', 'kill'],
    ['evict', 'deaf'],
    ['failover', 'stop'],
    ['failover', 'slow'],
    ['failover', 'hold'],
  ],
  scripts: /^(announce|publish|finish|ack|list-groups) /,
  settings: (random) => ({
    ...work.settings(random),
    leaseMs: random.magnitude(100, 1_000),
    partitions: random.integer(1, 2),
    grows: random.chance(0.7),
    retained: 0,
    concurrency: random.integer(1, 3),
    timeoutMs: 20_000,
    groups: ['g1', 'g2'],
    isApart: random.chance(0.7),
  }),
  operation: (random, settings) => ({
    ...work.operation(random, settings),
    kind: random.pick(['publish', 'publish', 'publish', 'look']),
    message: {
      pieces: random.chance(0.5) ? [] : [random.work(settings.leaseMs)],
      fails: random.pick([0, 0, 0, 1]),
      ending: 'return',
      deaf: false,
    },
  }),
};
