import {
  Checks,
  KNOWN_SHUTDOWN,
  resolveShutdown,
  shown,
  type KnownOptions,
  type ShutdownOptions,
} from '../../internal/src';
import { KNOWN_ATTEMPTS, KNOWN_WORK, type ResolvedWork, resolveWork, type WorkOptions } from '../../worker/src';
import type { TaskSettings } from './delayed-task.types';

interface GroupLimits {
  readonly concurrency?: number;
  readonly rate?: { readonly limit: number; readonly windowMs: number };
}

/** Options of DelayedTaskModule. */
export interface DelayedTaskModuleOptions extends WorkOptions, TaskSettings, ShutdownOptions {
  /** Name of the queue; 1 to 100 letters, digits, `.`, `_` or `-`. Default `default`. */
  readonly namespace?: string;
  /**
   * Number of partitions of the queue; integer from 1 to 256. Each task is in one partition, and a Redis Cluster can store the partitions
   * on different nodes. Do not change the number while the queue holds tasks. Default 1.
   */
  readonly partitions?: number;
  /**
   * Rate limit of the queue: all workers together start at most `limit` attempts in a window of `windowMs`. Retries count. A window begins
   * with the first attempt after the window before it has ended. `limit`: integer from the number of partitions to 1,000,000,000; each
   * partition gets an equal share. `windowMs`: ms, integer from 1 to 86,400,000. Set the same limit in all workers. Default: no limit.
   */
  readonly startLimit?: { readonly limit: number; readonly windowMs: number };
  /**
   * Limits of each group (see the option `group` of a task), over all workers. `concurrency`: maximum number of tasks of the group that
   * run at the same time; integer from the number of partitions to 1,000. `rate`: up to `limit` attempts of the group may start at once.
   * After that, one may start each `windowMs / limit` ms. Retries count. `limit` is an integer from the number of partitions to
   * 1,000,000, and `windowMs` an integer from 1 to 86,400,000 (ms). Each partition gets an equal share of each limit, for the tasks of
   * the group in this partition. Set the same limits in all workers. Default: no limits.
   */
  readonly groupLimits?: GroupLimits;
  /** True if this process runs tasks. Default: true if this process has a handler for tasks of the queue. */
  readonly work?: boolean;
  /**
   * True if this process sends events of the tasks that it runs to the listeners of `onEvents` in all processes. An event reports how an
   * attempt ended, or the progress that a handler reported. Events never contain payloads or results. Default false.
   */
  readonly broadcastEvents?: boolean;
  /** Maximum size of the JSON of a payload, and of a result, bytes; integer from 1 to 16 MiB. Default 65,536. */
  readonly maxPayloadBytes?: number;
  /** How long Redis remembers an `operationId` of `schedule`, ms; integer from 1,000 to 100 years. Default 600,000. */
  readonly operationRetentionMs?: number;
  /**
   * How long dead letters are kept, ms; integer from 1,000 to 100 years. After this time, a periodic cleanup deletes them. Default 30
   * days.
   */
  readonly deadRetentionMs?: number;
  /**
   * Further queues: maps the name of each queue to its options. A queue uses the options of the module that it does not set itself,
   * except `startLimit` and `groupLimits`. Use a separate queue for tasks with slow handlers, so that other tasks do not wait for them.
   */
  readonly queues?: Readonly<Record<string, OptionsOfQueue>>;
}

/** Options of one queue in the option `queues`. */
type OptionsOfQueue = Pick<
  DelayedTaskModuleOptions,
  'concurrency' | 'partitions' | 'startLimit' | 'groupLimits' | 'work' | 'broadcastEvents'
>;

/** Options after the defaults are filled in. `work` has no default here; it is undefined if the app did not set it. */
export interface ResolvedDelayedTaskOptions
  extends
    ResolvedWork,
    Required<Omit<DelayedTaskModuleOptions, keyof WorkOptions | 'work' | 'startLimit' | 'groupLimits' | 'queues'>> {
  readonly work: boolean | undefined;
  readonly startLimit: { readonly limit: number; readonly windowMs: number } | undefined;
  readonly groupLimits: GroupLimits | undefined;
  /** Options of the further queues. The `namespace` of each is its name. */
  readonly queues: readonly ResolvedDelayedTaskOptions[];
}

/** Longest delay and longest retention: 100 years, ms. */
export const MAX_DURATION_MS = 36_500 * 86_400_000;
const DAY_MS = 86_400_000;

export const KNOWN_SETTINGS: KnownOptions<TaskSettings> = { ...KNOWN_ATTEMPTS, keepResultMs: true };
const KNOWN: KnownOptions<DelayedTaskModuleOptions> = {
  namespace: true,
  partitions: true,
  startLimit: true,
  groupLimits: true,
  work: true,
  broadcastEvents: true,
  ...KNOWN_WORK,
  ...KNOWN_SETTINGS,
  maxPayloadBytes: true,
  operationRetentionMs: true,
  deadRetentionMs: true,
  queues: true,
  ...KNOWN_SHUTDOWN,
};
const KNOWN_OF_QUEUE: KnownOptions<OptionsOfQueue> = {
  concurrency: true,
  partitions: true,
  startLimit: true,
  groupLimits: true,
  work: true,
  broadcastEvents: true,
};

const checks = new Checks('DelayedTaskModule');

export function checkKeep(value: unknown, where: Checks): number {
  return where.integer('keepResultMs', value, 0, MAX_DURATION_MS);
}

/** Checks the name of a queue. */
export function checkQueue(where: Checks, field: string, name: unknown): string {
  return where.text(field, name, /^[\w.-]{1,100}$/, '1 to 100 letters, digits, ".", "_" or "-"');
}

export function resolveOptions(options: DelayedTaskModuleOptions): ResolvedDelayedTaskOptions {
  checks.options('', options, KNOWN);
  const { namespace = 'default' } = options;
  const own = {
    namespace: checkQueue(checks, 'namespace', namespace),
    partitions: checkPartitions(checks, options.partitions ?? 1),
    startLimit: checkStartLimit(checks.in('startLimit'), options.startLimit, options.partitions ?? 1, MOST_STARTS),
    groupLimits: checkGroupLimits(checks, options.groupLimits, options.partitions ?? 1),
    work: options.work === undefined ? undefined : checks.flag('work', options.work),
    broadcastEvents: checks.flag('broadcastEvents', options.broadcastEvents ?? false),
    ...resolveWork(options, checks),
    keepResultMs: checkKeep(options.keepResultMs ?? 0, checks),
    maxPayloadBytes: checks.integer('maxPayloadBytes', options.maxPayloadBytes ?? 65_536, 1, 16 * 1_024 * 1_024),
    operationRetentionMs: checks.integer(
      'operationRetentionMs',
      options.operationRetentionMs ?? 600_000,
      1_000,
      MAX_DURATION_MS,
    ),
    deadRetentionMs: checks.integer('deadRetentionMs', options.deadRetentionMs ?? 30 * DAY_MS, 1_000, MAX_DURATION_MS),
    ...resolveShutdown(options, checks),
  };
  const given = options.queues === undefined ? {} : checks.object('queues', options.queues);
  const queues = Object.entries(given).map(([name, queue]) => {
    if (checkQueue(checks, 'a name in queues', name) === namespace) {
      throw checks.error(
        `The option queues has a queue ${shown(name)}, but this is the name of the first queue (namespace, by default "default"). Rename one of the two.`,
      );
    }
    const where = new Checks(`DelayedTaskModule: queue ${name}`);
    const { concurrency, partitions, startLimit, groupLimits, work, broadcastEvents } = where.options(
      '',
      queue,
      KNOWN_OF_QUEUE,
    );
    return Object.freeze({
      ...own,
      namespace: name,
      queues: [],
      ...(concurrency !== undefined && { concurrency: resolveWork({ concurrency }, where).concurrency }),
      ...(partitions !== undefined && { partitions: checkPartitions(where, partitions) }),
      // The limits of the first queue do not apply to further queues.
      startLimit: checkStartLimit(where.in('startLimit'), startLimit, partitions ?? own.partitions, MOST_STARTS),
      groupLimits: checkGroupLimits(where, groupLimits, partitions ?? own.partitions),
      ...(work !== undefined && { work: where.flag('work', work) }),
      ...(broadcastEvents !== undefined && { broadcastEvents: where.flag('broadcastEvents', broadcastEvents) }),
    });
  });
  return Object.freeze({ ...own, queues });
}

const [MOST_STARTS, MOST_GROUP_STARTS] = [1_000_000_000, 1_000_000];

function checkStartLimit(
  inside: Checks,
  given: DelayedTaskModuleOptions['startLimit'],
  partitions: number,
  most: number,
): ResolvedDelayedTaskOptions['startLimit'] {
  if (given === undefined) return undefined;
  const { limit, windowMs } = inside.options('', given, { limit: true, windowMs: true });
  return Object.freeze({
    limit: inside.integer('limit', limit, partitions, most),
    windowMs: inside.integer('windowMs', windowMs, 1, DAY_MS),
  });
}

function checkGroupLimits(
  where: Checks,
  given: DelayedTaskModuleOptions['groupLimits'],
  partitions: number,
): ResolvedDelayedTaskOptions['groupLimits'] {
  if (given === undefined) return undefined;
  const inside = where.in('groupLimits');
  const { concurrency, rate } = inside.options('', given, { concurrency: true, rate: true });
  if (concurrency === undefined && rate === undefined) {
    throw where.error('groupLimits has neither concurrency nor rate. Set one of the two, or leave groupLimits out.');
  }
  return Object.freeze({
    ...(concurrency !== undefined && { concurrency: inside.integer('concurrency', concurrency, partitions, 1_000) }),
    ...(rate !== undefined && { rate: checkStartLimit(inside.in('rate'), rate, partitions, MOST_GROUP_STARTS) }),
  });
}

function checkPartitions(where: Checks, partitions: unknown): number {
  return where.integer('partitions', partitions, 1, 256);
}

/** Returns the limits of one partition: its equal share of the limits of the queue and of each group. 0 means no limit. */
export function limitsOf({ startLimit, groupLimits, partitions }: ResolvedDelayedTaskOptions) {
  const share = (limit = 0): number => Math.floor(limit / partitions);
  return {
    most: share(startLimit?.limit),
    windowMs: startLimit?.windowMs ?? 0,
    groupMost: share(groupLimits?.concurrency),
    groupStarts: share(groupLimits?.rate?.limit),
    groupWindowMs: groupLimits?.rate?.windowMs ?? 0,
  };
}
