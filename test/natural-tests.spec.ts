import { Controller, Get, Injectable, UseGuards } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { DelayedTaskService } from 'luanest/delayed-task';
import { LockService } from 'luanest/lock';
import { Once, OnceService, type OnceRun } from 'luanest/once';
import { RateLimit, RateLimitGuard, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardService } from 'luanest/read-reward';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { StreamConsumer, StreamConsumerService, type StreamMessage } from 'luanest/stream-consumer';
import { allowPlainMethods } from '../libs/internal/src';

/** Unit tests as users write them: no module of luanest and no Redis, only the class under test and mocks of services. */

@Injectable()
class Jobs {
  built = 0;

  @Cron('0 3 * * *')
  @ScheduledLock()
  build(): string | Promise<string> {
    this.built += 1;
    return 'built';
  }
}

@Injectable()
class Pusher {
  @Once({ id: (message: { id: string }) => message.id })
  on(message: { id: string }): string | Promise<string> {
    return `pushed ${message.id}`;
  }
}

interface Order {
  readonly id: string;
}

@Injectable()
class Mails {
  constructor(readonly streams: StreamConsumerService) {}

  @StreamConsumer({ stream: 'orders', group: 'mails' })
  send(message: StreamMessage<Order>): void {
    void this.streams.publish('mails', { to: message.payload.id });
  }
}

@Controller('cats')
@UseGuards(RateLimitGuard)
class CatsController {
  @Get()
  @RateLimit({ limit: 5, windowMs: 60_000 })
  list(): string[] {
    return ['Tom'];
  }
}

@Injectable()
class Tasks {
  constructor(private readonly tasks: DelayedTaskService) {}

  remind(id: string): Promise<unknown> {
    return this.tasks.schedule('remind', { id }, { delayMs: 1_000 });
  }
}

@Injectable()
class Stock {
  constructor(private readonly locks: LockService) {}

  take(id: string): Promise<number> {
    return this.locks.withLock(`stock:${id}`, {}, () => 1);
  }
}

@Injectable()
class Articles {
  constructor(private readonly rewards: ReadRewardService) {}

  read(userId: string, articleId: string): Promise<unknown> {
    return this.rewards.record({ rule: 'articles', userId, itemId: articleId });
  }
}

const UNAVAILABLE = /OnceService|ScheduledLockService|RateLimitService/;

describe('without luanest/testing', () => {
  test('a decorated method of an object that no app made throws, with what to do', async () => {
    expect(() => new Jobs().build()).toThrow(
      /^@ScheduledLock on Jobs\.build: .*ScheduledLockService.*ScheduledLockModule\.forRoot\(\).*import 'luanest\/testing'/,
    );
    await expect(new Pusher().on({ id: '1' })).rejects.toThrow(
      /^@Once on Pusher\.on: .*OnceService.*OnceModule\.forRoot\(\).*import 'luanest\/testing'/,
    );
  });

  test.each([Jobs, Pusher])('%p does not compile without its service', async (type) => {
    await expect(Test.createTestingModule({ providers: [type] }).compile()).rejects.toThrow(UNAVAILABLE);
  });

  test('a controller with RateLimitGuard does not compile without RateLimitService', async () => {
    const module = Test.createTestingModule({ controllers: [CatsController] });
    await expect(module.compile()).rejects.toThrow(UNAVAILABLE);
  });
});

describe('with luanest/testing', () => {
  beforeAll(() => allowPlainMethods());

  test('new Jobs().build() runs the method', () => {
    expect(new Jobs().build()).toBe('built');
  });

  test('a module with the class alone runs the method', async () => {
    const module = await Test.createTestingModule({ providers: [Jobs] }).compile();
    expect(module.get(Jobs).build()).toBe('built');
  });

  test('a mock of ScheduledLockService decides whether the job runs, and what it returns', async () => {
    const run = jest.fn<Promise<unknown>, [string, () => unknown]>();
    const module = await Test.createTestingModule({
      providers: [Jobs, { provide: ScheduledLockService, useValue: { run } }],
    }).compile();
    const jobs = module.get(Jobs);
    run.mockImplementationOnce(async (_name, work) => ({ ran: true, outcome: 'ran', value: await work() }));
    expect(await jobs.build()).toBe('built');
    run.mockResolvedValueOnce({ ran: false, outcome: 'skipped-held' });
    expect(await jobs.build()).toBeUndefined();
    expect(jobs.built).toBe(1);
    expect(run).toHaveBeenCalledWith('Jobs.build', expect.any(Function), { tick: true, args: [] });
  });

  test('useMocker with empty mocks runs the method as it is', async () => {
    const module = await Test.createTestingModule({ providers: [Jobs, Pusher], controllers: [CatsController] })
      .useMocker(() => ({}))
      .compile();
    expect(module.get(Jobs).build()).toBe('built');
    expect(await module.get(Pusher).on({ id: '1' })).toBe('pushed 1');
    expect(module.get(CatsController).list()).toEqual(['Tom']);
  });

  test('new Pusher().on() runs the method', async () => {
    expect(await new Pusher().on({ id: '1' })).toBe('pushed 1');
  });

  test('a mock of OnceService decides whether the handler runs, and what it returns', async () => {
    const run = jest.fn<Promise<unknown>, [unknown, unknown, (run: OnceRun) => unknown]>();
    const module = await Test.createTestingModule({
      providers: [Pusher, { provide: OnceService, useValue: { run } }],
    }).compile();
    const pusher = module.get(Pusher);
    run.mockImplementationOnce(async (_target, _options, work) => {
      return { status: 'ran', result: await work({ id: '1' } as OnceRun), confirmed: true };
    });
    expect(await pusher.on({ id: '1' })).toBe('pushed 1');
    run.mockResolvedValueOnce({ status: 'duplicate', result: 'pushed before', confirmed: true });
    expect(await pusher.on({ id: '1' })).toBe('pushed before');
    run.mockResolvedValueOnce({ status: 'in-progress', retryAfterMs: 5 });
    await expect(pusher.on({ id: '1' })).rejects.toMatchObject({ code: 'ONCE_IN_PROGRESS' });
    expect(run).toHaveBeenCalledWith({ scope: 'Pusher.on', id: '1' }, {}, expect.any(Function));
  });

  test('a handler of a stream needs only an empty mock of StreamConsumerService', async () => {
    const module = await Test.createTestingModule({
      providers: [Mails, { provide: StreamConsumerService, useValue: {} }],
    }).compile();
    expect(module.get(Mails)).toBeInstanceOf(Mails);
  });

  test('the spec that the Nest CLI makes for a controller with RateLimitGuard passes', async () => {
    const module = await Test.createTestingModule({ controllers: [CatsController] }).compile();
    expect(module.get(CatsController)).toBeDefined();
  });

  test('overrideGuard replaces RateLimitGuard', async () => {
    const module = await Test.createTestingModule({ controllers: [CatsController] })
      .overrideGuard(RateLimitGuard)
      .useValue({ canActivate: () => true })
      .compile();
    expect(module.get(CatsController).list()).toEqual(['Tom']);
  });

  test('a mock of DelayedTaskService is given to the constructor', async () => {
    const schedule = jest.fn().mockResolvedValue({ id: 't1', status: 'scheduled' });
    await new Tasks({ schedule } as unknown as DelayedTaskService).remind('u1');
    expect(schedule).toHaveBeenCalledWith('remind', { id: 'u1' }, { delayMs: 1_000 });
  });

  test('a mock of StreamConsumerService is given to the constructor', () => {
    const publish = jest.fn();
    const mails = new Mails({ publish } as unknown as StreamConsumerService);
    mails.send({ payload: { id: 'o1' } } as StreamMessage<Order>);
    expect(publish).toHaveBeenCalledWith('mails', { to: 'o1' });
  });

  test('a mock of LockService runs the work', async () => {
    const withLock = jest.fn((_name: string, _options: object, work: () => unknown) => Promise.resolve(work()));
    const module = await Test.createTestingModule({
      providers: [Stock, { provide: LockService, useValue: { withLock } }],
    }).compile();
    expect(await module.get(Stock).take('s1')).toBe(1);
    expect(withLock).toHaveBeenCalledWith('stock:s1', {}, expect.any(Function));
  });

  test('a mock of ReadRewardService returns what the test says', async () => {
    const record = jest.fn().mockResolvedValue({ status: 'rewarded', points: 5 });
    const module = await Test.createTestingModule({
      providers: [Articles, { provide: ReadRewardService, useValue: { record } }],
    }).compile();
    expect(await module.get(Articles).read('u1', 'a1')).toMatchObject({ points: 5 });
  });

  test('a mock of RateLimitService decides what RateLimitGuard does', async () => {
    const consume = jest.fn();
    const module = await Test.createTestingModule({
      controllers: [CatsController],
      providers: [{ provide: RateLimitService, useValue: { consume } }],
    }).compile();
    const app = module.createNestApplication();
    await app.listen(0, '127.0.0.1');
    try {
      const url = `${await app.getUrl()}/cats`;
      consume.mockResolvedValueOnce({ allowed: true });
      expect((await fetch(url)).status).toBe(200);
      consume.mockResolvedValueOnce({ allowed: false, retryAfterMs: 2_000 });
      const refused = await fetch(url);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
      const [checks] = consume.mock.calls[0] as [{ rule: { limit: number }; subject: string; cost: number }[]];
      expect(checks).toMatchObject([{ rule: { limit: 5 }, subject: '127.0.0.1', limit: 5, cost: 1 }]);
    } finally {
      await app.close();
    }
  });
});
