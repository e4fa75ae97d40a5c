import type { GroupMeasuredEvent } from 'luanest/stream-consumer';
import type { QueueStatsSource } from '../metrics.options';
import type { Recorder } from '../recorder';
import type { Subscriptions } from '../subscriptions';

/** A consumer that has stopped tells nothing more; what it told last is not shown for ever. */
const STREAM_STATS_LAST_MS = 300_000;

const STREAM_STATES = ['length', 'pending', 'lag', 'due', 'parked', 'dead'] as const;
const TASK_STATES = ['waiting', 'overdue', 'running', 'dead'] as const;

/** Shows how groups stand, as their consumers of this process last told. */
export function watchStreams(on: Subscriptions, recorder: Recorder): void {
  const told = new Map<string, GroupMeasuredEvent & { readonly at: number }>();
  on.on('luanest:stream-consumer:group.measured', (event) =>
    told.set(`${event.stream}\n${event.group}`, { ...event, at: performance.now() }),
  );
  const fresh = (): GroupMeasuredEvent[] => {
    for (const [key, { at }] of told) if (performance.now() - at > STREAM_STATS_LAST_MS) told.delete(key);
    return [...told.values()];
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

/** Shows what a queue of tasks holds; asks Redis each time that metrics are collected. */
export function watchTasks(queue: QueueStatsSource, recorder: Recorder): void {
  let asked: ReturnType<QueueStatsSource['stats']> | undefined;
  const stats = (): ReturnType<QueueStatsSource['stats']> => {
    // Both gauges are asked in one collection, and one answer is for both.
    asked ??= queue.stats().finally(() => (asked = undefined));
    return asked;
  };
  recorder.watch('luanest.delayed_task.tasks', async (show) => {
    const now = await stats();
    for (const state of TASK_STATES) show(now[state], { 'luanest.delayed_task.state': state });
  });
  recorder.watch('luanest.delayed_task.late', async (show) => show((await stats()).lateMs / 1_000, {}));
}
