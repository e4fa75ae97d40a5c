import { metrics, trace } from '@opentelemetry/api';
import { resolveOptions, type MetricsOptions } from './metrics.options';
import { Recorder } from './recorder';
import { watchStreams, watchTasks } from './collectors/gauges';
import { countOnce, countRateLimits, countReadRewards } from './collectors/guards';
import { countScripts, timeCalls } from './collectors/scripts';
import { countJobs, countLocks, countStreams, countTasks } from './collectors/work';
import { drawSpans } from './spans';
import { Subscriptions } from './subscriptions';

const SCOPE = 'luanest';

const SOURCES = [
  countScripts,
  countRateLimits,
  countOnce,
  countReadRewards,
  countLocks,
  countJobs,
  countTasks,
  countStreams,
];

/** Running metrics. */
export interface RunningMetrics {
  /** Unsubscribes, and stops to report what was counted. Harmless twice. */
  stop(): void;
}

/**
 * Turns events of the libs on `node:diagnostics_channel` into OpenTelemetry metrics. It covers all libs and all apps of the
 * process, so start it once. Set up OpenTelemetry's SDK before, or pass its providers.
 *
 * @throws InvalidOptionError
 */
export function startMetrics(options: MetricsOptions = {}): RunningMetrics {
  const { meterProvider, tracerProvider, calls, spans, streams, tasks } = resolveOptions(options);
  const on = new Subscriptions();
  const recorder = new Recorder((meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE));
  for (const count of SOURCES) count(on, recorder);
  if (calls === true) timeCalls(on, recorder);
  if (spans === true) drawSpans(on, (tracerProvider ?? trace.getTracerProvider()).getTracer(SCOPE));
  if (streams === true) watchStreams(on, recorder);
  if (tasks) watchTasks(tasks, recorder);
  return {
    stop: () => {
      on.close();
      recorder.close();
    },
  };
}
