import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { Checks, type KnownOptions } from '../../internal/src';

/** Options of `startMetrics`. */
export interface MetricsOptions {
  /** Provider of meters. Default: the provider that is registered with OpenTelemetry's API when the metrics start. */
  readonly meterProvider?: MeterProvider;
  /** Provider of tracers. Default: the provider that is registered with OpenTelemetry's API. */
  readonly tracerProvider?: TracerProvider;
  /**
   * True to record the duration of each call of a script (`luanest.script.call.duration`). Default false: only the duration of groups is
   * recorded. A group is all calls that are sent as one EVALSHA.
   */
  readonly calls?: boolean;
  /** True to create a span for each call of a script. Default false. */
  readonly spans?: boolean;
  /**
   * Task queue, such as `DelayedTaskService`. Its `stats()` is called once each time metrics are collected, and gauges show the numbers of
   * tasks by state that it returns. `lateMs` is how long the first overdue task has been due, ms. Default: no such gauges.
   */
  readonly tasks?: {
    stats(): Promise<{
      readonly waiting: number;
      readonly overdue: number;
      readonly running: number;
      readonly dead: number;
      readonly lateMs: number;
    }>;
  };
}

export const KNOWN: KnownOptions<MetricsOptions> = {
  meterProvider: true,
  tracerProvider: true,
  calls: true,
  spans: true,
  tasks: true,
};

/** Checks the options. @throws InvalidOptionError that names the option, its value and the allowed values */
export function resolveOptions(options: MetricsOptions, checks = new Checks('startMetrics')): MetricsOptions {
  checks.options('', options, KNOWN);
  for (const name of ['calls', 'spans'] as const) checks.flag(name, options[name] ?? false);
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
