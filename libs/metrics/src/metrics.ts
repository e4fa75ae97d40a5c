import { metrics, trace } from '@opentelemetry/api';
import { resolveOptions, type MetricsOptions } from './metrics.options';
import { Recorder } from './recorder';
import { watchStreams, watchTasks } from './collectors/gauges';
import { countOnce, countRateLimits, countReadRewards } from './collectors/guards';
import { countScripts, timeCalls } from './collectors/scripts';
import { countJobs, countLocks, countOutboxes, countStreams, countTasks } from './collectors/work';
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
  countOutboxes,
  watchStreams,
];

export interface RunningMetrics {
  /** Stops recording: unsubscribes from all channels, and removes the counters and gauges from OpenTelemetry. May be called twice. */
  stop(): void;
}

/**
 * Turns the events of the libs on `node:diagnostics_channel` into OpenTelemetry metrics. The metrics cover all libs and all apps of
 * the process, so call this function once. Set up OpenTelemetry's SDK before the call, or pass the providers of the SDK.
 *
 * @throws InvalidOptionError that names the option, its value and the allowed values
 */
export function startMetrics(options: MetricsOptions = {}): RunningMetrics {
  const { meterProvider, tracerProvider, calls, spans, tasks } = resolveOptions(options);
  const on = new Subscriptions();
  const recorder = new Recorder((meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE));
  for (const count of SOURCES) count(on, recorder);
  if (calls === true) timeCalls(on, recorder);
  if (spans === true) drawSpans(on, (tracerProvider ?? trace.getTracerProvider()).getTracer(SCOPE));
  if (tasks) watchTasks(tasks, recorder);
  return {
    stop: () => {
      on.close();
      recorder.close();
    },
  };
}
