import { Test } from '@nestjs/testing';
import { OnceService, type OnceRun } from 'luanest/once';
import { RateLimitGuard, RateLimitService } from 'luanest/rate-limit';
import { ScheduledLockService } from 'luanest/scheduled-lock';
import { StreamConsumerService } from 'luanest/stream-consumer';
import 'luanest/testing';
import { CatsController, Jobs, Mails, Pusher } from './decorated';

describe('a job with @ScheduledLock', () => {
  test('runs as it is on an object that the test makes', () => {
    expect(new Jobs().build()).toBe('built');
  });

  test('runs as it is in a module with the class alone', async () => {
    const module = await Test.createTestingModule({ providers: [Jobs] }).compile();
    expect(module.get(Jobs).build()).toBe('built');
  });

  test('runs, and returns, what a mock of ScheduledLockService decides', async () => {
    const run = jest.fn();
    const module = await Test.createTestingModule({
      providers: [Jobs, { provide: ScheduledLockService, useValue: { run } }],
    }).compile();
    const jobs = module.get(Jobs);
    run.mockImplementationOnce(async (_name: string, work: () => unknown) => {
      return { ran: true, outcome: 'ran', value: await work() };
    });
    expect(await jobs.build()).toBe('built');
    run.mockResolvedValueOnce({ ran: false, outcome: 'skipped-held' });
    expect(await jobs.build()).toBeUndefined();
    expect(jobs.built).toBe(1);
    expect(run).toHaveBeenCalledWith('Jobs.build', expect.any(Function), { tick: true, args: [] });
  });
});

test('useMocker with empty mocks lets each method run as it is', async () => {
  const module = await Test.createTestingModule({ providers: [Jobs, Pusher], controllers: [CatsController] })
    .useMocker(() => ({}))
    .compile();
  expect(module.get(Jobs).build()).toBe('built');
  expect(await module.get(Pusher).on({ id: '1' })).toBe('pushed 1');
  expect(module.get(CatsController).list()).toEqual(['Tom']);
});

describe('a handler with @Once', () => {
  test('runs as it is on an object that the test makes', async () => {
    expect(await new Pusher().on({ id: '1' })).toBe('pushed 1');
  });

  test('runs, and returns, what a mock of OnceService decides', async () => {
    const run = jest.fn();
    const module = await Test.createTestingModule({
      providers: [Pusher, { provide: OnceService, useValue: { run } }],
    }).compile();
    const pusher = module.get(Pusher);
    run.mockImplementationOnce(async (_target: object, _terms: object, work: (run: OnceRun) => unknown) => {
      return { status: 'ran', result: await work({ id: '1' } as OnceRun), confirmed: true };
    });
    expect(await pusher.on({ id: '1' })).toBe('pushed 1');
    run.mockResolvedValueOnce({ status: 'duplicate', result: 'pushed before', confirmed: true });
    expect(await pusher.on({ id: '1' })).toBe('pushed before');
    run.mockResolvedValueOnce({ status: 'in-progress', retryAfterMs: 5 });
    await expect(pusher.on({ id: '1' })).rejects.toMatchObject({ code: 'ONCE_IN_PROGRESS' });
    expect(run).toHaveBeenCalledWith({ scope: 'Pusher.on', id: '1' }, {}, expect.any(Function));
  });
});

test('a handler with @StreamConsumer is a plain method, and an empty mock of StreamConsumerService is enough', async () => {
  const module = await Test.createTestingModule({
    providers: [Mails, { provide: StreamConsumerService, useValue: {} }],
  }).compile();
  const mails = module.get(Mails);
  mails.send({ payload: { id: 'o1' } } as Parameters<Mails['send']>[0]);
  expect(mails.sent).toEqual(['o1']);
});

describe('a controller with RateLimitGuard', () => {
  test('is defined in the test that the Nest CLI writes', async () => {
    const module = await Test.createTestingModule({ controllers: [CatsController] }).compile();
    expect(module.get(CatsController)).toBeDefined();
  });

  test('has another guard after overrideGuard', async () => {
    const module = await Test.createTestingModule({ controllers: [CatsController] })
      .overrideGuard(RateLimitGuard)
      .useValue({ canActivate: () => true })
      .compile();
    expect(module.get(CatsController).list()).toEqual(['Tom']);
  });

  test('serves and refuses as a mock of RateLimitService decides', async () => {
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
      expect(consume.mock.calls[0]).toMatchObject([[{ rule: { limit: 5 }, subject: '127.0.0.1', limit: 5, cost: 1 }]]);
    } finally {
      await app.close();
    }
  });
});
