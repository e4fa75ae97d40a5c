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

/** Metrics that are kept, until they are stopped. */
export interface RunningMetrics {
  /** Listens no more; what was counted is shown no more. Harmless twice. */
  stop(): void;
}

/**
 * Turns what the libs tell on `node:diagnostics_channel` into metrics of OpenTelemetry: of all libs and all apps of this
 * process, so start it once. OpenTelemetry's SDK must have been set up before, or its providers be given.
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
