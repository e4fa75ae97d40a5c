import { Controller, Get, Injectable, Post, UseGuards, type INestApplication } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { DelayedTask, DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { CurrentOnceRun, Idempotent, Once, OnceModule, OnceService, type OnceRun } from 'luanest/once';
import { RateLimit, RateLimitGuard, RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { RedPacketModule } from 'luanest/red-packet';
import { ScheduledLock, ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumer, StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { standaloneClient } from '../libs/script-registry/test/support';
import { uniquePrefix } from './support/shared-servers';

/** An app with the real modules, whose services a test replaces by mocks that have the methods which the app calls. */

@Injectable()
class Work {
  runs: string[] = [];

  @Cron('0 0 1 1 *')
  @ScheduledLock()
  job(): string | Promise<string> {
    this.runs.push('job');
    return 'job';
  }

  @Once({ id: (id: string) => id })
  message(id: string): string | Promise<string> {
    this.runs.push(id);
    return `handled ${id}`;
  }

  @StreamConsumer({ stream: 'orders', group: 'work' })
  onOrder(): void {}

  @DelayedTask('remind')
  remind(): void {}
}

@Controller()
class Routes {
  @Get('limited')
  @UseGuards(RateLimitGuard)
  @RateLimit({ name: 'route', limit: 1, windowMs: 60_000, count: 'failures' })
  limited(): string {
    return 'ok';
  }

  @Post('orders')
  @Idempotent()
  order(@CurrentOnceRun() run: OnceRun): object {
    return { fence: run.fence };
  }
}

const client = standaloneClient();
let app: INestApplication | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});
afterAll(() => client.disconnect());

function appModule(work: object = Work): TestingModuleBuilder {
  return Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
      RateLimitModule.forRoot({ rules: [{ name: 'all', limit: 9, windowMs: 60_000 }], deadlineMs: 10_000 }),
      OnceModule.forRoot({ idempotency: { subject: () => 'ann' } }),
      ScheduleModule.forRoot(),
      ScheduledLockModule.forRoot({ namespace: 'mocked' }),
      StreamConsumerModule.forRoot(),
      DelayedTaskModule.forRoot(),
      RedPacketModule.forRoot({ identity: () => 'ann' }),
    ],
    controllers: [Routes],
    providers: [work as typeof Work],
  });
}

async function listening(builder: TestingModuleBuilder): Promise<string> {
  app = (await builder.compile()).createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

const order = (url: string): Promise<Response> =>
  fetch(`${url}/orders`, { method: 'POST', headers: { 'idempotency-key': 'k1' } });

test('mocks replace the services, and decide', async () => {
  const decision = { allowed: true, source: 'redis', reason: undefined, retryAfterMs: 0, rules: [], policies: [] };
  const consume = jest.fn().mockResolvedValue(decision);
  const refund = jest.fn().mockResolvedValue(1);
  const claim = jest.fn();
  const runOnce = jest.fn().mockResolvedValue({ status: 'duplicate', result: 'before', confirmed: true });
  const runJob = jest.fn().mockResolvedValue({ ran: false, status: 'skipped-held' });
  const url = await listening(
    appModule()
      .overrideProvider(RateLimitService)
      .useValue({ consume, refund })
      .overrideProvider(OnceService)
      .useValue({ run: runOnce, claim })
      .overrideProvider(ScheduledLockService)
      .useValue({ run: runJob })
      .overrideProvider(StreamConsumerService)
      .useValue({})
      .overrideProvider(DelayedTaskService)
      .useValue({ handle: jest.fn() }),
  );

  expect((await fetch(`${url}/limited`)).status).toBe(200);
  expect(consume.mock.calls[0]?.[0]).toMatchObject([{ rule: { name: 'all' } }, { rule: { name: 'route' }, limit: 1 }]);
  expect(refund).toHaveBeenCalledWith(expect.objectContaining({ allowed: true }), ['route']);
  consume.mockResolvedValue({ ...decision, allowed: false, reason: 'redis-error' });
  expect((await fetch(`${url}/limited`)).status).toBe(503);

  const [confirm, release] = [jest.fn().mockResolvedValue({ status: 'confirmed' }), jest.fn()];
  claim.mockResolvedValueOnce({ status: 'claimed', id: 'k1', token: 't', fence: 7, confirm, release });
  expect(await (await order(url)).json()).toEqual({ fence: 7 });
  expect(claim.mock.calls[0]?.[0]).toMatchObject({ subject: 'ann', key: 'k1' });
  expect(confirm).toHaveBeenCalledWith(expect.objectContaining({ status: 201, body: '{"fence":7}' }));
  claim.mockResolvedValueOnce({ status: 'done', result: { status: 202, headers: [], body: 'old' }, confirmed: true });
  const replayed = await order(url);
  expect([replayed.status, await replayed.text()]).toEqual([202, 'old']);
  claim.mockResolvedValueOnce({ status: 'mismatch' });
  expect((await order(url)).status).toBe(422);

  const work = (app as INestApplication).get(Work);
  expect(await work.message('m1')).toBe('before');
  expect(await work.job()).toBeUndefined();
  expect(work.runs).toEqual([]);
});

test('an object of useFactory has the services of the app', async () => {
  await listening(appModule({ provide: Work, useFactory: () => new Work() }));
  const work = (app as INestApplication).get(Work);
  expect([await work.message('m1'), await work.message('m1')]).toEqual(['handled m1', 'handled m1']);
  expect(await work.job()).toBe('job');
  expect(work.runs).toEqual(['m1', 'job']);
});
