import { Controller, Post } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Redis } from 'ioredis';
import { CurrentOnceRun, Idempotent, OnceService, type OnceRun } from 'luanest/once';
import { NotReplicatedError } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { quiet } from '../../script-registry/test/support';
import { openHttp } from './http-support';
import { resolveOptions } from '../src/once.options';
import { claimed, openBench, type Bench } from './support';

/** The service with one replica to wait for. */
const waiting = (replicasTimeoutMs: number): OnceService =>
  new OnceService(bench.store, resolveOptions({ replicas: 1, replicasTimeoutMs }));

let master: RedisServer;
let replica: RedisServer;
let bench: Bench;
let other: Redis;
let counter = 0;
let id: string;

const inStep = (): Promise<void> =>
  eventually(async () => expect(await bench.raw.info('replication')).toContain('state=online'));

beforeAll(async () => {
  master = await startRedis();
  replica = await startRedis({ replicaOf: master });
  bench = await openBench(quiet(new Redis(master.port)));
  other = quiet(new Redis(replica.port));
  await inStep();
}, 60_000);
beforeEach(() => {
  counter += 1;
  id = `replicated ${counter}`;
});
afterAll(async () => {
  bench.close();
  other.disconnect();
  await replica.stop();
  await master.stop();
});

const asReplicated = (): Promise<string | null> => other.get(bench.keyOf(id));

it('the replica has the claim before the work begins, and the confirmation before run resolves', async () => {
  let during: string | null = null;
  const answer = await waiting(2_000).run(id, {}, async () => {
    during = await asReplicated();
    return 'done';
  });
  expect(answer).toEqual({ status: 'ran', result: 'done', confirmed: true });
  expect(during).toMatch(/^c/);
  expect(await asReplicated()).toMatch(/^d.*"done"$/);
  expect(await waiting(2_000).run(id, {}, () => 'again')).toMatchObject({ status: 'duplicate', result: 'done' });
});

describe('without the replica', () => {
  beforeEach(() => replica.pause());
  afterEach(async () => {
    replica.resume();
    await inStep();
  });

  it('a claim is released, nothing runs, and the error has the counts', async () => {
    const work = jest.fn();
    const refused = { code: 'NOT_REPLICATED', during: 'claim', copies: 0, replicas: 1 };
    await expect(waiting(50).run(id, {}, work)).rejects.toMatchObject(refused);
    await expect(waiting(50).claim(id)).rejects.toMatchObject(refused);
    expect(work).not.toHaveBeenCalled();
    expect(await bench.once.peek(id)).toEqual({ status: 'unknown' });
    expect(await bench.once.run(id, {}, () => 'now')).toMatchObject({ status: 'ran', confirmed: true });
    // A repeat has written nothing that would have to be replicated.
    expect(await waiting(50).run(id, {}, work)).toMatchObject({ status: 'duplicate', result: 'now' });
  });

  it('a confirmation stays, and the caller gets an error that a failover may lose it', async () => {
    replica.resume();
    await inStep();
    const lost = waiting(1_000).run(id, {}, () => {
      replica.pause();
      return 'done';
    });
    await expect(lost).rejects.toMatchObject({ code: 'NOT_REPLICATED', during: 'confirm', copies: 0 });
    expect(await bench.once.peek(id)).toMatchObject({ status: 'done', result: 'done' });
  });

  it('a renewal does not count: the signal fires when the lease ends that the replica has', async () => {
    replica.resume();
    await inStep();
    const began = performance.now();
    let [abortedAfterMs, reason]: [number, unknown] = [0, undefined];
    const running = waiting(500).run(id, { leaseMs: 3_000 }, async (run) => {
      replica.pause();
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve, { once: true }));
      [abortedAfterMs, reason] = [performance.now() - began, run.signal.reason];
      // The master has renewed it, so nobody else gets the id there.
      expect(await bench.once.peek(id)).toMatchObject({ status: 'in-progress' });
      return 'late';
    });
    await running.catch(() => undefined);
    expect(abortedAfterMs).toBeGreaterThan(2_000);
    expect(reason).toMatchObject({
      code: 'LOST',
      message: expect.stringContaining('was not renewed in time') as string,
    });
  });

  it('a renewal by hand throws, and one that the replica has counts', async () => {
    replica.resume();
    await inStep();
    const claim = claimed(await waiting(2_000).claim(id));
    expect(await claim.renew()).toMatchObject({ status: 'renewed' });
    replica.pause();
    const refused = { code: 'NOT_REPLICATED', during: 'renew', copies: 0, replicas: 1 };
    await expect(waiting(50).renew(id, claim.token)).rejects.toMatchObject(refused);
    expect(await bench.once.renew(id, claim.token)).toMatchObject({ status: 'renewed' });
    expect(await waiting(50).renew(id, 'another')).toEqual({ status: 'lost' });
  });

  it('a claim by hand waits at its confirmation as well', async () => {
    replica.resume();
    await inStep();
    const claim = claimed(await waiting(1_000).claim(id));
    replica.pause();
    await expect(claim.confirm('mine')).rejects.toBeInstanceOf(NotReplicatedError);
    expect(await bench.once.peek(id)).toMatchObject({ status: 'done', result: 'mine' });
  });
});

describe.each(['refuse', 'run'] as const)('an idempotent route with onRedisError %s', (onRedisError) => {
  it('whose claim no replica has', async () => {
    const seen: OnceRun[] = [];
    @Controller()
    class Routes {
      @Post('orders')
      @Idempotent()
      create(@CurrentOnceRun() run: OnceRun): string {
        seen.push(run);
        return 'made';
      }
    }
    const client = quiet(new Redis(master.port));
    const http = await openHttp({
      adapter: new ExpressAdapter(),
      client,
      controllers: [Routes],
      once: { replicas: 2, replicasTimeoutMs: 20 },
      idempotency: { onRedisError },
    });
    const answer = await http.post('/orders', 'k1');
    if (onRedisError === 'refuse') {
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([503, { code: 'REDIS_UNAVAILABLE' }]);
      expect(seen).toEqual([]);
    } else {
      expect([answer.status, answer.body]).toEqual([201, 'made']);
      expect(seen[0]).toMatchObject({ id: 'k1', fence: 0 });
      expect(seen[0]?.signal.aborted).toBe(false);
      expect(() => seen[0]?.assertHeld()).toThrow('it runs without a claim');
    }
    expect(await http.app.get(OnceService).peek({ subject: 'ann', key: 'k1' })).toEqual({ status: 'unknown' });
    await http.close();
  });
});
