import type { Random } from '../engine/random';
import type { Lib } from '../engine/world';

export interface Settings {
  readonly leaseMs: number;
  readonly partitions: number;
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly timeoutMs: number;
  readonly drainMs: number;
  readonly ids: number;
  /** Decides how calls of `schedule` handle a task that has their id already. Most apps use one value. */
  readonly conflicts: readonly Operation['onConflict'][];
  /** True: the last process has no handler for tasks `b`. */
  readonly hasStranger: boolean;
  /** True: handlers are registered after the boot. */
  readonly late: boolean;
  /** Maximum number of tasks of a group that run, for each partition; 0: any number. */
  readonly groupShare: number;
  /** Time in which two tasks of a group start, for each partition, ms; 0: none. */
  readonly groupWindowMs: number;
}

/** Work of a task. */
export interface Payload {
  /** Number of the task. An id may have several tasks, one after the other. */
  readonly n: number;
  readonly pieces: readonly number[];
  /** Attempts that fail before one does not. */
  readonly fails: number;
  readonly ending: 'return' | 'later' | 'dead';
  /** True: the handler ignores its signal. */
  readonly deaf: boolean;
}

/** State of a task. */
export interface Task extends Payload {
  readonly id: string;
  /** True once a call returned that it is scheduled. */
  promised: boolean;
  /** True until a call has returned whether it is scheduled or another one was kept. */
  undecided: boolean;
  /** True if another call may have ended it: cancelled, replaced or dropped. */
  mayBeGone: boolean;
  /** True if it was dropped, if it was a dead letter then. */
  mayBeDropped: boolean;
  /** True if keys were lost after it was scheduled. */
  excused: boolean;
  begun: number;
  /** Attempts whose handler ended without an error. */
  returned: number;
  /** Due time that its call has returned, ms; undefined if it may be due earlier. */
  dueMs: number | undefined;
  doneUs: number | undefined;
  cancelledUs: number | undefined;
  deaths: number;
  /** True if a task with its id was a dead letter, and it is not known which one. */
  mayHaveDied: boolean;
  replays: number;
}

export interface Operation {
  readonly kind: 'schedule' | 'many' | 'cancel' | 'reschedule' | 'replay' | 'drop' | 'look';
  readonly ids: readonly string[];
  readonly name: 'a' | 'b';
  readonly delayMs: number;
  readonly onConflict: 'keep' | 'replace' | 'after';
  readonly evenRunning: boolean;
  readonly attempts?: number;
  readonly group?: string;
  readonly task: Omit<Payload, 'n'>;
}

/** Work of users of delayed-task, and faults that they meet. */
export const work: Omit<Lib<Settings, Operation>, 'start'> = {
  name: 'delayed-task',
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
    'redis-clock': 3,
    clock: 3,
    failover: 2,
    'redis-down': 3,
  },
  together: [
    ['hold'],
    ['hold'],
    ['cut', 'close'],
    ['hold', 'close'],
    ['cut', 'refuse'],
    ['cut', 'redis-down'],
    ['cut', 'slow'],
    ['slow', 'close'],
    ['close'],
    ['cut'],
  ],
  hurried: { leaseMs: 1_600, drainMs: 10 },
  chains: [
    ['cut', 'hold'],
    ['cut', 'hold'],
    ['cut', 'refuse'],
    ['cut', 'refuse'],
    ['redis-down', 'close'],
    ['close', 'redis-down'],
  ],
  settings: (random: Random) => ({
    leaseMs: Math.max(random.magnitude(100, 3_000), random.named('lease').chance(0.2) ? 1_800 : 0),
    partitions: random.integer(1, 3),
    concurrency: random.magnitude(1, 12),
    attempts: random.integer(1, 4),
    backoffMs: random.magnitude(5, 500),
    timeoutMs: random.chance(0.3) ? random.magnitude(50, 1_000) : 20_000,
    // Some apps close before the replies to their calls are there.
    drainMs: Math.min(random.magnitude(10, 3_000), random.named('drain').pick([10, 40, 3_000, 3_000, 3_000])),
    ids: random.magnitude(1, 20),
    conflicts: random.pick([['keep'], ['keep', 'keep', 'replace', 'after'], ['replace'], ['after']]),
    hasStranger: random.chance(0.3),
    late: random.chance(0.3),
    groupShare: random.chance(0.5) ? random.integer(1, 2) : 0,
    groupWindowMs: random.chance(0.2) ? random.magnitude(5, 200) : 0,
  }),
  operation: (random, { leaseMs, ids, conflicts, hasStranger }) => {
    const kinds = [
      'schedule',
      'schedule',
      'schedule',
      'schedule',
      'many',
      'cancel',
      'reschedule',
      'replay',
      'drop',
      'look',
    ];
    const kind = random.pick(kinds) as Operation['kind'];
    const id = (): string => `t${random.integer(1, ids)}`;
    const count = kind === 'many' || random.chance(0.2) ? random.integer(2, 6) : 1;
    return {
      kind,
      ids: [...new Set(Array.from({ length: kind === 'schedule' || kind === 'cancel' ? 1 : count }, id))],
      name: random.chance(hasStranger ? 0.5 : 0.8) ? 'a' : 'b',
      delayMs: random.chance(0.4) ? 0 : random.magnitude(1, 3 * leaseMs),
      onConflict: random.pick(conflicts),
      evenRunning: random.chance(0.5),
      ...(random.chance(0.2) && { attempts: random.integer(1, 6) }),
      task: {
        pieces: Array.from({ length: random.chance(0.5) ? random.integer(0, 2) : random.integer(2, 6) }, () =>
          random.work(leaseMs),
        ),
        fails: random.chance(0.3) ? random.integer(1, 5) : 0,
        ending: random.chance(0.85) ? 'return' : random.pick(['later', 'dead']),
        deaf: random.chance(0.3),
      },
      ...(random.chance(0.4) && { group: random.pick(['x', 'y']) }),
    };
  },
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 10 * leaseMs + 40_000,
};

/** The part of it that takes tasks: one partition, and replies that are lost. */
export const takes: Omit<Lib<Settings, Operation>, 'start'> = {
  ...work,
  name: 'task-takes',
  faults: { cut: 12, hold: 8, slow: 4, refuse: 6, kill: 3, stop: 4, 'redis-down': 2, clock: 2 },
  together: [['cut'], ['cut'], ['cut', 'refuse'], ['cut', 'hold'], ['hold'], ['cut', 'slow']],
  chains: [
    ['cut', 'refuse'],
    ['cut', 'hold'],
    ['hold', 'refuse'],
  ],
  hurried: undefined,
  scripts: /^take /,
  settings: (random) => ({
    ...work.settings(random),
    leaseMs: random.chance(0.6) ? random.integer(1_500, 3_000) : random.magnitude(100, 1_500),
    partitions: 1,
    attempts: random.integer(2, 4),
    timeoutMs: 20_000,
    conflicts: ['keep'],
    backoffMs: random.magnitude(5, 2_000),
    groupShare: 0,
    groupWindowMs: 0,
  }),
  operation: (random, settings) => {
    const operation = work.operation(random, settings);
    return {
      ...operation,
      kind: random.pick(['schedule', 'schedule', 'schedule', 'many', 'cancel']),
      task: { ...operation.task, fails: random.pick([0, 0, 1, 2, 3]) },
    };
  },
};
