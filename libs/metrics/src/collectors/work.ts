import { errorType } from '../error-type';
import type { Recorder } from '../recorder';
import type { Subscriptions } from '../subscriptions';

export function countLocks(on: Subscriptions, recorder: Recorder): void {
  on.on('luanest:lock:acquisition.ended', ({ status, durationMs }) =>
    recorder.record('luanest.lock.acquire.duration', { 'luanest.outcome': status }, durationMs / 1_000),
  );
  for (const outcome of ['released', 'lost'] as const) {
    on.on(`luanest:lock:lock.${outcome}`, ({ heldMs }) =>
      recorder.record('luanest.lock.hold.duration', { 'luanest.outcome': outcome }, heldMs / 1_000),
    );
  }
  on.on('luanest:lock:call.failed', ({ during, error }) =>
    recorder.add('luanest.lock.errors', { 'luanest.during': during, 'error.type': errorType(error) }),
  );
}

export function countJobs(on: Subscriptions, recorder: Recorder): void {
  on.on('luanest:scheduled-lock:tick.ended', ({ name, status, durationMs }) => {
    const named = { 'luanest.scheduled_lock.job': name, 'luanest.outcome': status };
    recorder.add('luanest.scheduled_lock.runs', named);
    if (status === 'ran' || status === 'failed' || status === 'lost') {
      recorder.record('luanest.scheduled_lock.run.duration', named, durationMs / 1_000);
    }
  });
}

export function countTasks(on: Subscriptions, recorder: Recorder): void {
  on.on('luanest:delayed-task:attempt.settled', ({ namespace, name, status, lateMs, durationMs }) => {
    const named = { 'luanest.delayed_task.namespace': namespace };
    const full = { ...named, 'luanest.delayed_task.name': name, 'luanest.outcome': status };
    recorder.record('luanest.delayed_task.attempt.duration', full, durationMs / 1_000);
    // The status `unknown` means that this worker has no handler for the task. Another worker gets the task, and records the lateness.
    if (status !== 'unknown') recorder.record('luanest.delayed_task.lateness', named, lateMs / 1_000);
  });
  on.on('luanest:delayed-task:tasks.buried', ({ namespace, count }) =>
    recorder.add('luanest.delayed_task.buried', { 'luanest.delayed_task.namespace': namespace }, count),
  );
  on.on('luanest:delayed-task:queue.repaired', ({ namespace, restored, dropped }) => {
    for (const [outcome, count] of Object.entries({ restored, dropped })) {
      const named = { 'luanest.delayed_task.namespace': namespace, 'luanest.outcome': outcome };
      if (count > 0) recorder.add('luanest.delayed_task.repaired', named, count);
    }
  });
  on.on('luanest:delayed-task:call.failed', ({ namespace, during, error }) =>
    recorder.add('luanest.delayed_task.errors', {
      'luanest.delayed_task.namespace': namespace,
      'luanest.during': during,
      'error.type': errorType(error),
    }),
  );
}

export function countStreams(on: Subscriptions, recorder: Recorder): void {
  const named = ({ stream, group }: { readonly stream: string; readonly group: string }) => ({
    'luanest.stream': stream,
    'luanest.stream.group': group,
  });
  on.on('luanest:stream-consumer:messages.handled', (event) =>
    recorder.add('luanest.stream.handled', named(event), event.ids.length),
  );
  on.on('luanest:stream-consumer:message.retried', (event) => recorder.add('luanest.stream.retries', named(event)));
  on.on('luanest:stream-consumer:message.dead-lettered', (event) =>
    recorder.add('luanest.stream.dead_letters', named(event)),
  );
  on.on('luanest:stream-consumer:messages.lost', (event) =>
    recorder.add('luanest.stream.lost', named(event), event.ids.length),
  );
  on.on('luanest:stream-consumer:group.damaged', (event) => {
    for (const outcome of ['restored', 'deleted'] as const) {
      const count = event[outcome];
      if (count > 0) recorder.add('luanest.stream.damaged', { ...named(event), 'luanest.outcome': outcome }, count);
    }
  });
  on.on('luanest:stream-consumer:session.taken-over', (event) =>
    recorder.add('luanest.stream.taken_over', named(event), event.messages),
  );
  on.on('luanest:stream-consumer:call.failed', (event) =>
    recorder.add('luanest.stream.errors', {
      ...named(event),
      'luanest.during': event.during,
      'error.type': errorType(event.error),
    }),
  );
}

export function countOutboxes(on: Subscriptions, recorder: Recorder): void {
  const count = (table: string, outcome: string, rows: number): void =>
    recorder.add('luanest.outbox.rows', { 'luanest.outbox.table': table, 'luanest.outcome': outcome }, rows);
  on.on('luanest:outbox:rows.sent', ({ table, tasks, messages, lagMs }) => {
    count(table, 'sent', tasks + messages);
    recorder.record('luanest.outbox.lag', { 'luanest.outbox.table': table }, lagMs / 1_000);
  });
  on.on('luanest:outbox:row.failed', ({ table, undecided }) => count(table, undecided ? 'undecided' : 'failed', 1));
  on.on('luanest:outbox:call.failed', ({ table, during, error }) =>
    recorder.add('luanest.outbox.errors', {
      'luanest.outbox.table': table,
      'luanest.during': during,
      'error.type': errorType(error),
    }),
  );
}
