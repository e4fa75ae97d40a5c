import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { Checks, type KnownOptions } from '../../internal/src';

/** Source of the statistics of a queue of tasks, such as `DelayedTaskService`. */
export interface QueueStatsSource {
  /** Returns the number of tasks by state, and the lateness of the oldest overdue task, ms. */
  stats(): Promise<{
    readonly waiting: number;
    readonly overdue: number;
    readonly running: number;
    readonly dead: number;
    readonly lateMs: number;
  }>;
}

/** Options of `startMetrics`. */
export interface MetricsOptions {
  /** Provider of meters. Default: the one that is registered with OpenTelemetry's API when metrics start. */
  readonly meterProvider?: MeterProvider;
  /** Provider of tracers. Default: the one that is registered with OpenTelemetry's API. */
  readonly tracerProvider?: TracerProvider;
  /** True to time every call of a script (`luanest.script.call.duration`). Default false: only groups of calls are timed. */
  readonly calls?: boolean;
  /** True to create a span for every call of a script. Default false. */
  readonly spans?: boolean;
  /** True for gauges of the consumer groups of this process. Default false. */
  readonly streams?: boolean;
  /** Queue of tasks for gauges: one call to Redis each time that metrics are collected. Default: no gauges. */
  readonly tasks?: QueueStatsSource;
}

/** Names of the options, also of those of MetricsModule. */
export const KNOWN: KnownOptions<MetricsOptions> = {
  meterProvider: true,
  tracerProvider: true,
  calls: true,
  spans: true,
  streams: true,
  tasks: true,
};

/** Checks the options. @throws InvalidOptionError with the option, its value and what is allowed */
export function resolveOptions(options: MetricsOptions, checks = new Checks('startMetrics')): MetricsOptions {
  checks.options('', options, KNOWN);
  for (const name of ['calls', 'spans', 'streams'] as const) checks.flag(name, options[name] ?? false);
  const wanted = [
    ['meterProvider', 'getMeter'],
    ['tracerProvider', 'getTracer'],
    ['tasks', 'stats'],
  ] as const;
  for (const [name, method] of wanted) {
    const value = options[name] as Record<string, unknown> | null | undefined;
    if (value === undefined || typeof value?.[method] === 'function') continue;
    checks.refuse(name, value, `an object with a method ${method}()`);
  }
  return options;
}
