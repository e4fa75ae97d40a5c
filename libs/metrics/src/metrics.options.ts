import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { Checks, type KnownOptions } from '../../internal/src';

/** Who knows how a queue of tasks stands, as `DelayedTaskService` does. */
export interface QueueStatsSource {
  /** How many tasks the queue holds, and how late it is. */
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
  /** Keeps the metrics. Default: the one that is registered with OpenTelemetry's API when metrics start. */
  readonly meterProvider?: MeterProvider;
  /** Makes the spans. Default: the one that is registered with OpenTelemetry's API. */
  readonly tracerProvider?: TracerProvider;
  /** Whether every call of a script is timed, `luanest.script.call.duration`. Default false: groups of calls are. */
  readonly calls?: boolean;
  /** Whether a span is drawn around every call of a script. Default false. */
  readonly spans?: boolean;
  /** Whether gauges show how consumer groups of this process stand. Default false. */
  readonly streams?: boolean;
  /** Whose tasks gauges show; one call to Redis each time that metrics are collected. Default: none. */
  readonly tasks?: QueueStatsSource;
}

/** Names of the options, of MetricsModule's too. */
export const KNOWN: KnownOptions<MetricsOptions> = {
  meterProvider: true,
  tracerProvider: true,
  calls: true,
  spans: true,
  streams: true,
  tasks: true,
};

/** @throws InvalidOptionError naming the option and the value */
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
