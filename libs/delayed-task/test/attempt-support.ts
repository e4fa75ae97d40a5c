import { KeySpace } from 'luanest/script-registry';
import { Partitions } from '../src/queue/task-codec';
import { Calls } from '../../worker/src';
import { events } from '../src/delayed-task.events';
import { type Step, TaskAttempt } from '../src/worker/settlements';
import type { FakeRegistry } from '../../../test/support/fake-registry';
import { turn } from '../../../test/support/manual-time';

export const partitions = new Partitions(new KeySpace('p', 'delayed-task'), 'mails', 2);
export const [ONE, TWO] = [partitions.at(0), partitions.at(1)];

/** Makes an attempt of a task, with the token `t-<id>`. */
export function attemptOf(
  id: string,
  start: Partial<ConstructorParameters<typeof TaskAttempt>[0]> & { keepResultMs?: number } = {},
): TaskAttempt {
  const { keepResultMs = 0, ...more } = start;
  const backoff = { delayMs: 100, factor: 2, maxDelayMs: 1_000 };
  const record = {
    attempts: 5,
    keepResultMs,
    backoff,
    name: 'mail',
    group: undefined,
    payload: '{}',
    schedule: undefined,
  };
  const base = {
    registry: undefined as never,
    id,
    attempt: 2,
    runAtMs: 5,
    lateMs: 3,
    token: `t-${id}`,
    partition: ONE,
    sentAt: 0,
    leaseMs: 3_600_000,
  };
  return new TaskAttempt({ ...base, record, ...more });
}

/** Gives the last call of a registry its reply. */
export async function answer(registry: FakeRegistry, reply: unknown): Promise<void> {
  registry.last.reply.resolve(reply);
  await turn();
}

/** Lets the last call of a registry fail. */
export async function fail(registry: FakeRegistry, error: unknown): Promise<void> {
  registry.last.reply.reject(error);
  await turn();
}

/** A log of a worker that keeps what it is given: the name of the method, and its arguments. */
export function logOf<T>(): { lines: unknown[]; log: T } {
  const lines: unknown[] = [];
  const log = new Proxy(
    {},
    {
      get:
        (_, method) =>
        (...args: unknown[]) =>
          void lines.push([method, ...args]),
    },
  );
  return { lines, log: log as T };
}

/** Calls of a worker of this queue, whose failures are published. */
export function callsOf(namespace: string): Calls<Step> {
  return new Calls((during, error) => events.callFailed.publish(() => ({ namespace, during, error })));
}
