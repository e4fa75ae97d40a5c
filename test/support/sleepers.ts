import { Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { openBench as openTasks } from '../../libs/delayed-task/test/support';
import { idleChecksOf } from '../../libs/internal/src';
import { group, openBench as openStreams, quiet } from '../../libs/stream-consumer/test/support';
import { eventually, sleep } from './wait';

/** An idle consumer or worker of a process of its own. */
export interface Sleeper {
  /** Numbers whose handlers have begun, and when, by `performance.now()`. */
  readonly handled: { readonly n: number; readonly at: number }[];
  /** Key of the mark that says whether sleepers must be woken. It is also the name of the channel. */
  readonly mark: string;
  send(n: number): Promise<unknown>;
  /** Waits until the sleeper has found nothing more, and `listeners` are subscribed to the channel. */
  asleep(admin: Redis, listeners?: number): Promise<void>;
  close(): Promise<void>;
}

export interface SleeperOptions {
  /** Default: an hour, which is longer than a test, so that nothing that is due wakes the sleeper. */
  readonly leaseMs?: number;
  /** True for a process without handlers. */
  readonly sendsOnly?: boolean;
  /** Handles a number. Default: does nothing. */
  readonly handle?: (n: number) => Promise<void>;
}

type Open = (client: Redis, prefix: string, options?: SleeperOptions) => Promise<Sleeper>;

const HOUR = 3_600_000;
const CLOSING = { drainMs: 0, abortGraceMs: 0 };

async function listening(registry: ScriptRegistry, admin: Redis, channel: string, listeners: number): Promise<void> {
  // Idle checks would find what nobody was woken for, at a random time.
  idleChecksOf(registry)['checks'].clear();
  await eventually(
    async () => expect(await admin.call('PUBSUB', 'SHARDNUMSUB', channel)).toEqual([channel, listeners]),
    { timeoutMs: 30_000 },
  );
  // The takes after the subscription.
  await sleep(300);
}

/** A consumer of a stream, and a worker of a queue. */
export const SLEEPERS: readonly [string, Open][] = [
  [
    'consumer',
    async (client, prefix, { leaseMs = HOUR, sendsOnly = false, handle } = {}) => {
      const bench = await openStreams(client, CLOSING, { prefix });
      const handled: Sleeper['handled'] = [];
      if (!sendsOnly) {
        await bench.streams.handle<number>(group('s', 'g', { leaseMs }), async ({ payload: n }) => {
          handled.push({ n, at: performance.now() });
          await handle?.(n);
        });
      }
      const { woken } = bench.keys('s', 'g');
      return {
        handled,
        mark: woken,
        send: (n) => bench.streams.publish('s', n),
        asleep: (admin, listeners = 1) => listening(bench.registry, admin, woken, listeners),
        close: () => bench.close(),
      };
    },
  ],
  [
    'worker',
    async (client, prefix, { leaseMs = HOUR, sendsOnly = false, handle } = {}) => {
      const bench = await openTasks(client, { leaseMs, ...CLOSING }, { prefix });
      const handled: Sleeper['handled'] = [];
      if (!sendsOnly) {
        bench.tasks.handle('t', async (payload) => {
          const n = payload as number;
          handled.push({ n, at: performance.now() });
          await handle?.(n);
        });
        bench.work();
      }
      const mark = bench.partitions[0]?.waits ?? '';
      return {
        handled,
        mark,
        send: (n) => bench.tasks.schedule('t', n),
        asleep: (admin, listeners = 1) => listening(bench.registry, admin, mark, listeners),
        close: () => bench.close(),
      };
    },
  ],
];

const retryStrategy = (): number => 20;

/** Connects to a port. With `channelPort`, connections for channels go there instead. */
export function connect(port: number, channelPort = port): Redis {
  const client = quiet(new Redis(port, '127.0.0.1', { retryStrategy, maxRetriesPerRequest: null }));
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (options) => quiet(duplicate({ ...options, port: channelPort }));
  return client;
}

/** Waits until a number was handled. @returns how long after `since` its handler began, ms */
export async function handledAfter(sleeper: Sleeper, n: number, since: number, timeoutMs: number): Promise<number> {
  const find = (): Sleeper['handled'][number] | undefined => sleeper.handled.find((one) => one.n === n);
  await eventually(() => expect(find()).toBeDefined(), { timeoutMs, everyMs: 5 });
  return (find()?.at ?? Infinity) - since;
}
