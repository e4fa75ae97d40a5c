import type { StreamConsumerEvents } from 'luanest/stream-consumer';
import { time } from '../../../internal/src';
import type { MetricsOptions } from '../metrics.options';
import type { Recorder } from '../recorder';
import type { Subscriptions } from '../subscriptions';

/**
 * The gauges drop the statistics of a stream group after this time, ms. If no consumer has published newer ones, the consumers have
 * stopped.
 */
const STREAM_STATS_LAST_MS = 300_000;

type Queue = NonNullable<MetricsOptions['tasks']>;

const STREAM_STATES = ['length', 'pending', 'lag', 'due', 'parked', 'dead'] as const;
const TASK_STATES = ['waiting', 'overdue', 'running', 'dead'] as const;

/** Defines gauges for the statistics of stream groups, which the consumers of this process publish. */
export function watchStreams(on: Subscriptions, recorder: Recorder): void {
  const latest = new Map<string, StreamConsumerEvents['groupMeasured'] & { readonly at: number }>();
  on.on('luanest:stream-consumer:group.measured', (event) =>
    latest.set(`${event.stream}\n${event.group}`, { ...event, at: time.monotonicMs() }),
  );
  const fresh = (): StreamConsumerEvents['groupMeasured'][] => {
    for (const [key, { at }] of latest) if (time.monotonicMs() - at > STREAM_STATS_LAST_MS) latest.delete(key);
    return [...latest.values()];
  };
  recorder.watch('luanest.stream.messages', (show) => {
    for (const { stream, group, stats } of fresh()) {
      for (const state of STREAM_STATES) {
        const attributes = { 'luanest.stream': stream, 'luanest.stream.group': group, 'luanest.stream.state': state };
        show(stats[state], attributes);
      }
    }
  });
  recorder.watch('luanest.stream.oldest', (show) => {
    for (const { stream, group, stats } of fresh()) {
      show((stats.oldestMs ?? 0) / 1_000, { 'luanest.stream': stream, 'luanest.stream.group': group });
    }
  });
}

/** Defines gauges for the size and the lateness of a task queue. Calls `stats()` once each time metrics are collected. */
export function watchTasks(queue: Queue, recorder: Recorder): void {
  let pending: ReturnType<Queue['stats']> | undefined;
  const stats = (): ReturnType<Queue['stats']> => {
    // Both gauges are read in one collection of metrics, so they share one call of `stats()`.
    pending ??= queue.stats().finally(() => (pending = undefined));
    return pending;
  };
  recorder.watch('luanest.delayed_task.tasks', async (show) => {
    const now = await stats();
    for (const state of TASK_STATES) show(now[state], { 'luanest.delayed_task.state': state });
  });
  recorder.watch('luanest.delayed_task.late', async (show) => show((await stats()).lateMs / 1_000, {}));
}
