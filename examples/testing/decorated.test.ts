import { Test } from '@nestjs/testing';
import { LockService } from 'luanest/lock';
import { OnceService, type OnceRun } from 'luanest/once';
import { RateLimitGuard, RateLimitService } from 'luanest/rate-limit';
import { ScheduledLockService } from 'luanest/scheduled-lock';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { allowAll, noLock, noOnce, undecorated } from 'luanest/testing';
import { CatsController, Jobs, Mails, Orders, Pusher } from './decorated';

describe('a job with @ScheduledLock', () => {
  test('runs as it is on an undecorated object', () => {
    expect(undecorated(new Jobs()).build()).toBe('built');
  });

  test('runs with noLock', async () => {
    const module = await Test.createTestingModule({ providers: [Jobs, ...noLock()] }).compile();
    expect(await module.get(Jobs).build()).toBe('built');
  });

  test('runs, and returns, what a mock of ScheduledLockService decides', async () => {
    const run = jest.fn();
    const module = await Test.createTestingModule({
      providers: [Jobs, { provide: ScheduledLockService, useValue: { run } }],
    }).compile();
    const jobs = module.get(Jobs);
    run.mockImplementationOnce(async (_name: string, work: () => unknown) => {
      return { ran: true, status: 'ran', value: await work() };
    });
    expect(await jobs.build()).toBe('built');
    run.mockResolvedValueOnce({ ran: false, status: 'skipped-held' });
    expect(await jobs.build()).toBeUndefined();
    expect(jobs.built).toBe(1);
    expect(run).toHaveBeenCalledWith('Jobs.build', expect.any(Function), { tick: true });
  });
});

test('LockService of noLock gives each lock at once', async () => {
  const module = await Test.createTestingModule({ providers: noLock() }).compile();
  const locks = module.get(LockService);
  await expect(locks.withLock(['b', 'a'], {}, ({ names, held }) => [names, held])).resolves.toEqual([['a', 'b'], true]);
  await expect((await locks.acquire('a')).release()).resolves.toBe('released');
});

describe('a handler with @Once', () => {
  test('runs as it is on an undecorated object', () => {
    expect(undecorated(new Pusher()).on({ id: '1' })).toBe('pushed 1');
  });

  test('runs each time with noOnce', async () => {
    const module = await Test.createTestingModule({ providers: [Pusher, ...noOnce()] }).compile();
    const pusher = module.get(Pusher);
    expect([await pusher.on({ id: '1' }), await pusher.on({ id: '1' })]).toEqual(['pushed 1', 'pushed 1']);
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
  test('is a plain object', () => {
    expect(new CatsController().list()).toEqual(['Tom']);
  });

  test('has another guard after overrideGuard', async () => {
    const module = await Test.createTestingModule({ controllers: [CatsController] })
      .overrideGuard(RateLimitGuard)
      .useValue({ canActivate: () => true })
      .compile();
    expect(module.get(CatsController).list()).toEqual(['Tom']);
  });

  test('serves all requests with allowAll, and with noOnce each of an idempotent route', async () => {
    const module = await Test.createTestingModule({
      controllers: [CatsController, Orders],
      providers: [...allowAll(), ...noOnce()],
    }).compile();
    const { allowed } = await module.get(RateLimitService).consume('all', 'ann');
    expect(allowed).toBe(true);
    const app = module.createNestApplication();
    await app.listen(0, '127.0.0.1');
    try {
      const url = await app.getUrl();
      for (let n = 0; n < 6; n++) expect((await fetch(`${url}/cats`)).status).toBe(200);
      const order = { method: 'POST', headers: { 'idempotency-key': 'k' } };
      const texts = [await fetch(`${url}/orders`, order), await fetch(`${url}/orders`, order)].map((one) => one.text());
      expect(await Promise.all(texts)).toEqual(['order 1', 'order 2']);
    } finally {
      await app.close();
    }
  });
});
