import { type INestApplication, Injectable, Module } from '@nestjs/common';
import type { ExpressAdapter } from '@nestjs/platform-express';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import { DelayedTask, DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { OutboxModule, OutboxService, outboxTableSql } from 'luanest/outbox';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { RedPacketModule, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import { ScheduledLock, ScheduledLockModule } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { deadLetter, StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { uniquePrefix } from '../../../../test/support/shared-servers';
import { eventually } from '../../../../test/support/wait';
import { buildPage } from '../../../../tools/build-page.mjs';
import { openPostgres, pgDatabase } from '../../../outbox/test/support';
import { standaloneClient } from '../../../script-registry/test/support';
import { Assets } from '../../src/assets';
import { ConsoleModule } from '../../src/console.module';
import { everybody } from '../support';

export const HOUR_MS = 3_600_000;

/** The files of the page, built for this test. */
class BuiltAssets extends Assets {
  private readonly built = buildPage();
  override get(name: string): ReturnType<Assets['get']> {
    const text = this.built.get(name);
    const type = { html: 'text/html', js: 'text/javascript', css: 'text/css' }[name.split('.').at(-1) as 'js'];
    return text === undefined ? undefined : { text, type: type ?? 'image/svg+xml', etag: `"${name}"` };
  }
}

/** Mails, which a server refuses until the test repairs it. */
@Injectable()
export class Mails {
  broken: string | undefined = 'SMTP 421: too many connections from your host';
  readonly sent: unknown[] = [];

  @DelayedTask('mail')
  send(payload: unknown): void {
    if (this.broken !== undefined) throw new Error(this.broken);
    this.sent.push(payload);
  }
}

/** A job that a test starts by hand. */
@Injectable()
export class Nightly {
  runs = 0;

  @Interval(60_000_000)
  @ScheduledLock({ name: 'close-day' })
  closeDay(): void {
    this.runs += 1;
  }
}

/** A shop that uses all modules, with the console at `/ops/console`. Its data are real; the test decides what stands still. */
export interface Shop {
  readonly app: INestApplication;
  readonly url: string;
  readonly client: Redis;
  readonly mails: Mails;
  readonly nightly: Nightly;
  readonly tasks: DelayedTaskService;
  readonly streams: StreamConsumerService;
  readonly once: OnceService;
  readonly locks: LockService;
  readonly limits: RateLimitService;
  readonly rewards: ReadRewardService;
  readonly packets: RedPacketService;
  readonly payouts: RedPacketPayouts;
  readonly outbox: OutboxService;
  /** Runs a statement on the database of the outbox. */
  readonly query: (sql: string, params: unknown[]) => Promise<unknown>;
  /** Schedules a mail that becomes a dead letter, and waits for that. */
  deadMail(id: string, payload?: unknown): Promise<void>;
  /** Publishes an order that no carrier takes, and waits until it is a dead letter. Returns its id. */
  deadOrder(payload?: unknown, key?: string): Promise<string>;
  /** Creates a rain in which each of the users won a packet, and pays all but those that have no account. */
  rain(id: string, users: readonly string[], withoutAccount?: readonly string[]): Promise<void>;
  /** Writes a row of the outbox that was set aside for this error. Returns its id. */
  rowSetAside(error: string): Promise<string>;
  close(): Promise<void>;
}

export async function openShop(adapter: () => ExpressAdapter | FastifyAdapter): Promise<Shop> {
  const postgres = await openPostgres();
  await postgres.pool.query(outboxTableSql());
  const client = standaloneClient();
  @Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
      ScheduleModule.forRoot(),
      DelayedTaskModule.forRoot({ namespace: 'emails', attempts: 1, queues: { invoices: { partitions: 2 } } }),
      StreamConsumerModule.forRoot({ attempts: 1 }),
      OnceModule.forRoot(),
      LockModule.forRoot(),
      ScheduledLockModule.forRoot({ namespace: 'shop' }),
      RateLimitModule.forRoot({
        rules: [
          { name: 'login', limit: 5, windowMs: HOUR_MS, blockMs: HOUR_MS },
          { name: 'api', limit: 1_000, windowMs: 60_000, algorithm: 'sliding-window' },
        ],
      }),
      ReadRewardModule.forRoot({ rules: { article: { limit: 3, pointsPerItem: 5 } } }),
      RedPacketModule.forRoot({ identity: () => undefined }),
      OutboxModule.forRoot({ database: pgDatabase(postgres.pool), relay: false }),
      ConsoleModule.forRoot({ actor: everybody, readOnly: false, showPayloads: true }),
    ],
    providers: [Mails, Nightly],
  })
  class ShopModule {}
  const testing = Test.createTestingModule({ imports: [ShopModule] }).overrideProvider(Assets);
  const app = (await testing.useValue(new BuiltAssets()).compile()).createNestApplication(adapter() as ExpressAdapter, {
    logger: false,
  });
  app.setGlobalPrefix('ops');
  await app.listen(0, '127.0.0.1');
  const [tasks, streams, outbox] = [
    app.get(DelayedTaskService),
    app.get(StreamConsumerService),
    app.get(OutboxService),
  ];
  const [packets, payouts] = [app.get(RedPacketService), app.get(RedPacketPayouts)];
  const query = (sql: string, params: unknown[]) => postgres.pool.query(sql, params);
  return {
    ...{ app, client, tasks, streams, outbox, packets, payouts, query },
    url: `${await app.getUrl()}/ops/console/`,
    mails: app.get(Mails),
    nightly: app.get(Nightly),
    once: app.get(OnceService),
    locks: app.get(LockService),
    limits: app.get(RateLimitService),
    rewards: app.get(ReadRewardService),
    async deadMail(id, payload = { to: `${id}@example.com`, template: 'receipt' }) {
      await tasks.schedule('mail', payload, { id, delayMs: 0 });
      await eventually(async () => expect((await tasks.get(id))?.state).toBe('dead'));
    },
    async deadOrder(payload = { order: 4_711 }, key = 'customer-7') {
      const run = await streams.handle({ stream: 'orders', group: 'shipping', attempts: 1 }, () => {
        throw new Error('No carrier delivers to this address.');
      });
      const dead = async () => (await streams.stats('orders', 'shipping')).dead;
      await streams.resume('orders', 'shipping');
      const before = await dead();
      await streams.publish('orders', payload, { key });
      await eventually(async () => expect(await dead()).toBe(before + 1));
      await run.stop();
      return (await streams.deadLetters('orders', 'shipping', { limit: 100 })).items.at(-1)?.id ?? '';
    },
    async rain(id, users, withoutAccount = []) {
      await packets.create({ activityId: id, packets: users.length + 5, totalCents: 100 * (users.length + 5) });
      for (const user of users) await packets.grab(id, user);
      const run = payouts.run(({ userId }) =>
        withoutAccount.includes(userId) ? deadLetter('The user has no account.') : undefined,
      );
      const deadLetters = withoutAccount.length;
      await eventually(async () => expect(await payouts.stats(id)).toEqual({ open: 0, deadLetters }));
      await run.stop();
    },
    async rowSetAside(error) {
      const { id } = await outbox.schedule(query as never, 'mail', { order: 4_711 });
      const change = 'UPDATE luanest_outbox SET first_sent_at = now(), failed_at = now(), error = $2 WHERE id = $1';
      await query(change, [id, error]);
      return id;
    },
    async close() {
      await app.close();
      client.disconnect();
      await postgres.stop();
    },
  };
}
