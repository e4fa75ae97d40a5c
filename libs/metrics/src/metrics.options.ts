import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { Checks, type KnownOptions } from '../../internal/src';

/** Options of `startMetrics`. */
export interface MetricsOptions {
  /** Provider of meters. Default: the provider that is registered with OpenTelemetry's API when the metrics start. */
  readonly meterProvider?: MeterProvider;
  /** Provider of tracers. Default: the provider that is registered with OpenTelemetry's API. */
  readonly tracerProvider?: TracerProvider;
  /** True: every call of a script is timed (`luanest.script.call.duration`). Default false: only groups of calls are timed. */
  readonly calls?: boolean;
  /** True: every call of a script gets a span. Default false. */
  readonly spans?: boolean;
  /**
   * Queue of tasks that gauges show, such as `DelayedTaskService`. Each collection of metrics calls `stats()` once: the number of
   * tasks by state, and how long the first overdue task has been due, ms. Default: no gauges.
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

/** Checks the options. @throws InvalidOptionError with the option, its value and what is allowed */
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
