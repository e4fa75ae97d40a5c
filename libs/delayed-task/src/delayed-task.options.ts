import { Checks, KNOWN_SHUTDOWN, resolveShutdown, type KnownOptions, type ShutdownOptions } from '../../internal/src';
import { KNOWN_ATTEMPTS, KNOWN_WORK, type ResolvedWork, resolveWork, type WorkOptions } from '../../worker/src';
import type { TaskSettings } from './delayed-task.types';

/** Options of DelayedTaskModule. */
export interface DelayedTaskModuleOptions extends WorkOptions, TaskSettings, ShutdownOptions {
  /** Name of the queue; 1 to 100 letters, digits, `.`, `_` or `-`. Default `default`. */
  readonly namespace?: string;
  /**
   * Partitions over which the queue is sharded; integer from 1 to 256. Do not change it while the queue holds tasks. Default 1.
   */
  readonly partitions?: number;
  /** True if this process runs tasks. Default: true if it has a handler. */
  readonly work?: boolean;
  /** Most bytes of a payload, and of a result, as JSON; integer from 1 to 16 MiB. Default 65,536. */
  readonly maxPayloadBytes?: number;
  /** Age at which a sweep deletes a dead letter, ms; integer from 1 s to 100 years. Default 30 days. */
  readonly deadRetentionMs?: number;
}

/** Options with the defaults filled in; `work` as given. */
export interface ResolvedDelayedTaskOptions
  extends ResolvedWork, Required<Omit<DelayedTaskModuleOptions, keyof WorkOptions | 'work'>> {
  readonly work: boolean | undefined;
}

/** Longest delay and longest retention: 100 years, ms. */
export const MAX_DURATION_MS = 36_500 * 86_400_000;
const DAY_MS = 86_400_000;

export const KNOWN_SETTINGS: KnownOptions<TaskSettings> = { ...KNOWN_ATTEMPTS, keepResultMs: true };
const KNOWN: KnownOptions<DelayedTaskModuleOptions> = {
  namespace: true,
  partitions: true,
  work: true,
  ...KNOWN_WORK,
  ...KNOWN_SETTINGS,
  maxPayloadBytes: true,
  deadRetentionMs: true,
  ...KNOWN_SHUTDOWN,
};

const checks = new Checks('DelayedTaskModule');

export function checkKeep(value: unknown, where: Checks): number {
  return where.integer('keepResultMs', value, 0, MAX_DURATION_MS);
}

export function resolveOptions(options: DelayedTaskModuleOptions): ResolvedDelayedTaskOptions {
  checks.options('', options, KNOWN);
  const { namespace = 'default' } = options;
  return Object.freeze({
    namespace: checks.text('namespace', namespace, /^[\w.-]{1,100}$/, '1 to 100 letters, digits, ".", "_" or "-"'),
    partitions: checks.integer('partitions', options.partitions ?? 1, 1, 256),
    work: options.work === undefined ? undefined : checks.flag('work', options.work),
    ...resolveWork(options, checks),
    keepResultMs: checkKeep(options.keepResultMs ?? 0, checks),
    maxPayloadBytes: checks.integer('maxPayloadBytes', options.maxPayloadBytes ?? 65_536, 1, 16 * 1_024 * 1_024),
    deadRetentionMs: checks.integer('deadRetentionMs', options.deadRetentionMs ?? 30 * DAY_MS, 1_000, MAX_DURATION_MS),
    ...resolveShutdown(options, checks),
  });
}
