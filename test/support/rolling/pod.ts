import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type BeforeApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { DelayedTask, DelayedTaskModule, DelayedTaskService, type TaskContext } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ScheduledLockEvents, ScheduledLock, ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { defineStream, StreamConsumer, StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import type { StreamMessage } from 'luanest/stream-consumer';
import {
  COUNTER,
  LIMIT,
  NOTES,
  RULES,
  TICKS,
  WINDOW_MS,
  type Asked,
  type Note,
  type Order,
  type PodJob,
  type Reply,
} from './protocol';

/** A process of the app under test. It notes the start and the end of all its work in Redis, on a connection of its own. */
const { url, pod, leaseMs } = JSON.parse(process.argv[3] as string) as PodJob;
const redis = new Redis(url);
const note = (entry: Omit<Note, 'pod'>): Promise<unknown> => redis.rpush(NOTES, JSON.stringify({ ...entry, pod }));

interface Message {
  readonly id: string;
}
/** Orders without a reply so far. */
const inFlight = new Set<Promise<void>>();
const messages = defineStream<Message>({ name: 'messages', partitions: 2 });

@Injectable()
class Work implements BeforeApplicationShutdown {
  constructor(
    private readonly jobs: ScheduledLockService,
    private readonly tasks: DelayedTaskService,
    private readonly streams: StreamConsumerService,
    private readonly once: OnceService,
    private readonly locks: LockService,
    private readonly limits: RateLimitService,
  ) {}

  @DelayedTask('task')
  async task({ id }: Message, { attempt }: TaskContext): Promise<void> {
    await this.noted({ kind: 'task', id, attempt });
  }

  @StreamConsumer({ stream: messages, group: 'group', ordered: true })
  async message({ payload, attempt }: StreamMessage<Message>): Promise<void> {
    await this.noted({ kind: 'message', id: payload.id, attempt });
  }

  @ScheduledLock({ name: 'tick' })
  @Cron('* * * * * *')
  async tick(): Promise<void> {
    const run = this.jobs.current();
    await this.noted({ kind: 'tick', id: String(run?.slot), fence: run?.fence ?? 0 });
  }

  async do(order: Order): Promise<unknown> {
    switch (order.do) {
      case 'schedule': {
        const { id, delayMs } = order;
        return (await this.tasks.schedule('task', { id }, { id, delayMs })).status;
      }
      case 'publish': {
        const { id, key } = order;
        return (await this.streams.publish(messages, { id }, { key, operationId: id })).status;
      }
      case 'once': {
        const { id } = order;
        return this.once.run(id, {}, async () => {
          await this.noted({ kind: 'once', id });
          return pod;
        });
      }
      case 'lock':
        return this.locks.withLock('lock', { waitMs: 30_000 }, async ({ fence }) => {
          const entry = { kind: 'lock', id: order.id, fence } as const;
          await note({ ...entry, what: 'begin' });
          const counter = Number(await redis.get(COUNTER));
          await sleep(2);
          const end = JSON.stringify({ ...entry, what: 'end', pod } satisfies Note);
          await redis
            .multi()
            .set(COUNTER, counter + 1)
            .rpush(NOTES, end)
            .exec();
        });
      case 'limit':
        return (await this.limits.consume(order.rule, 'ann')).allowed;
    }
  }

  /** As the HTTP server of an app, which waits for its requests before the connections of the app are closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(inFlight);
  }

  private async noted(entry: Omit<Note, 'pod' | 'what'>): Promise<void> {
    await note({ ...entry, what: 'begin' });
    await sleep(20 * Math.random());
    await note({ ...entry, what: 'end' });
  }
}

const terms = { leaseMs };

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url, preload: 'required' }),
    ScheduleModule.forRoot(),
    ScheduledLockModule.forRoot({ ...terms, namespace: 'rolling', node: pod }),
    DelayedTaskModule.forRoot({ ...terms, concurrency: 5 }),
    StreamConsumerModule.forRoot({ ...terms, concurrency: 5 }),
    OnceModule.forRoot(terms),
    LockModule.forRoot(terms),
    RateLimitModule.forRoot({
      onRedisError: 'deny',
      deadlineMs: 5_000,
      rules: RULES.map((algorithm) => ({ name: algorithm, limit: LIMIT, windowMs: WINDOW_MS, algorithm })),
    }),
  ],
  providers: [Work],
})
class AppModule {}

async function main(): Promise<void> {
  subscribe(ScheduledLockEvents.tickEnded, (event) => {
    const { slot, status } = event as { slot: number; status: string };
    void redis.rpush(TICKS, JSON.stringify({ pod, slot, status }));
  });
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const work = app.get(Work);
  let closing = false;
  const reply = (message: Reply): Promise<void> => new Promise((resolve) => process.send?.(message, () => resolve()));
  const answer = async ({ number, order }: Asked): Promise<void> => {
    if (closing) return reply({ number, failed: 'closing' });
    const rest = await work.do(order).then(
      (result) => ({ result }),
      (error: unknown) => ({ failed: String(error) }),
    );
    await reply({ number, ...rest });
  };
  process.on('message', (message: Asked | 'go') => {
    if (message === 'go') return void Promise.all(inFlight).then(() => process.exit(0));
    const answering = answer(message).finally(() => inFlight.delete(answering));
    inFlight.add(answering);
  });
  // It takes no new orders, and says when it gets none any more.
  process.once('SIGTERM', () => {
    closing = true;
    void app.close().then(() => process.send?.('bye'));
  });
  process.once('disconnect', () => process.exit(1));
  process.send?.('ready');
}

void main();
