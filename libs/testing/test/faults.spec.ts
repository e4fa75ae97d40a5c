import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { LockModule, LockService } from 'luanest/lock';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { defineScript, type LuanestError, ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import { LuanestTesting, LuanestTestingModule } from 'luanest/testing';
import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import type { FaultOptions } from '../src/faults/faults';
import { itIoredis } from '../../../test/support/client-kind';
import { waitUntil } from '../../../test/support/wait';

const LIBS = [LockModule.forRoot(), RateLimitModule.forRoot()];
const rule = { name: 'login', limit: 1, windowMs: 60_000, onRedisError: 'deny' as const };

let server: RedisServer;
let proxy: FaultProxy;
let admin: Redis;
const apps: INestApplicationContext[] = [];

async function open(registry: DynamicModule): Promise<INestApplicationContext> {
  const app = await Test.createTestingModule({ imports: [registry, ...LIBS] }).compile();
  app.useLogger(false);
  await app.init();
  apps.push(app);
  return app;
}

async function openReal({ deadlineMs }: { deadlineMs?: number } = {}): Promise<LockService> {
  // As with the in-memory Redis, the client reports a lost reply at once.
  const connection = { port: proxy.port, autoResendUnfulfilledCommands: false, retryStrategy: () => 20 };
  const app = await open(ScriptRegistryModule.forRoot({ connection, preload: 'required', deadlineMs }));
  return app.get(LockService);
}

async function openMemory(): Promise<[LockService, LuanestTesting]> {
  const app = await open(LuanestTestingModule.forRoot());
  return [app.get(LockService), app.get(LuanestTesting)];
}

/** Returns what a caller sees of an error. Addresses differ. */
async function errorOf(call: Promise<unknown>): Promise<object> {
  const error = await call.then(
    () => new Error('no error'),
    (thrown: unknown) => thrown as LuanestError,
  );
  const masked = (text: string): string => text.replaceAll(/(127\.0\.0\.1|localhost):\d+/g, 'HOST');
  const { name, code, redisCode } = error as LuanestError & { redisCode?: string };
  const cause = error.cause as { name: string; message: string; kind?: string } | undefined;
  return {
    name,
    code,
    redisCode,
    type: error.constructor,
    message: masked(error.message),
    cause: cause && { message: masked(cause.message), kind: cause.kind, type: cause.constructor },
  };
}

beforeAll(async () => {
  server = await startRedis();
  proxy = await startFaultProxy(server);
  admin = new Redis(server.port);
});
afterEach(async () => {
  proxy.pass();
  await admin.config('SET', 'maxmemory', '0');
  for (const app of apps.splice(0)) await app.close();
});
afterAll(async () => {
  admin.disconnect();
  await proxy.stop();
  await server.stop();
});

describe('errors are those of real faults', () => {
  it('not-sent and redisDown: Redis is unavailable until the deadline', async () => {
    const real = await openReal({ deadlineMs: 100 });
    await (await real.acquire('b')).release();
    proxy.refuse();
    await waitUntil(
      'calls are not sent',
      async () => ((await errorOf(real.acquire('b'))) as { code?: string }).code === 'NOT_SENT',
    );
    const expected = await errorOf(real.acquire('b'));
    const [memory, { faults, redis }] = await openMemory();
    await faults.redisDown();
    await expect(errorOf(memory.acquire('b'))).resolves.toEqual(expected);
    await faults.redisUp();
    faults.nextCall('not-sent');
    // The error is made at once instead of at the deadline, so its text gives another reason.
    const message =
      'The script lock.acquire did not run: HOST is not connected, or not ready yet. The call had no effect. Check Redis, then repeat the call.';
    const cause = expect.objectContaining({ kind: 'not-sent' }) as object;
    await expect(errorOf(memory.acquire('b'))).resolves.toEqual({ ...expected, message, cause });
    expect(redis.server.db.keys()).toEqual([]);
    await (await memory.acquire('b')).release();
  });

  itIoredis('unknown: the reply is lost after the script has run', async () => {
    const real = await openReal();
    const cut = proxy.dropReply({ when: (request) => request.includes('EVALSHA') });
    const expected = await errorOf(real.acquire('c'));
    await cut;
    const [memory, { faults }] = await openMemory();
    faults.nextCall('unknown');
    const seen = await errorOf(memory.acquire('c'));
    expect(seen).toEqual(expected);
    expect(seen).toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    // It ran: there is a fence. The service has given back what it may have acquired.
    const { fence } = await memory.status('c');
    expect(fence).toBeGreaterThan(0);
  });

  it('refused', async () => {
    const real = await openReal();
    await (await real.acquire('d')).release();
    await admin.config('SET', 'maxmemory', '1');
    const expected = await errorOf(real.acquire('d'));
    const [memory, { faults }] = await openMemory();
    faults.nextCall('refused');
    const seen = await errorOf(memory.acquire('d'));
    expect(seen).toEqual(expected);
    expect(seen).toMatchObject({ code: 'SCRIPT_REFUSED', redisCode: 'OOM' });
  });

  itIoredis('redisDown: calls are not sent, and calls in flight have an unknown outcome', async () => {
    const real = await openReal();
    await (await real.acquire('e')).release();
    proxy.blackhole();
    const lost = errorOf(real.acquire('e'));
    await new Promise(setImmediate);
    proxy.refuse();
    const expected = await lost;
    const [memory, { faults }] = await openMemory();
    const seen = errorOf(memory.acquire('e'));
    await new Promise((resolve) => process.nextTick(resolve));
    await faults.redisDown();
    expect(await seen).toEqual(expected);
    expect(await seen).toMatchObject({ code: 'UNKNOWN_OUTCOME' });
  });
});

describe('faults', () => {
  it('hit only the script and the number of calls that the test asks for', async () => {
    const [locks, { faults }] = await openMemory();
    faults.nextCall('unknown', { script: 'lock.release' });
    const lock = await locks.acquire('a');
    expect(faults.pending).toBe(1);
    await expect(lock.release()).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    await expect(locks.status('a')).resolves.toMatchObject({ held: false });
    expect(faults.pending).toBe(0);
    faults.nextCall('unknown', { script: 'lock.acquire', runs: false });
    await expect(locks.acquire('b')).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    await expect(locks.status('b')).resolves.toEqual({ held: false, fence: 0 });
    faults.nextCall('not-sent');
    faults.clear();
    await (await locks.acquire('a')).release();
  });

  it('hit calls with replicas, which have a connection of their own', async () => {
    const [, { faults, redis }] = await openMemory();
    const registry = (apps.at(-1) as INestApplicationContext).get(ScriptRegistry);
    const set = defineScript({
      name: 'own.set',
      source: "redis.call('SET', KEYS[1], '1') return 1",
      keys: ['key'],
      args: {},
      reply: (raw: number) => raw,
    });
    registry.register([set]);
    const call = (key: string) => registry.runAndWait(set, { keys: { key }, args: {} }, { replicas: 1, timeoutMs: 10 });
    await expect(call('a')).resolves.toEqual({ result: 1, replicas: 0 });
    faults.nextCall('not-sent', { script: 'own.set' });
    await expect(call('b')).rejects.toMatchObject({ code: 'NOT_SENT' });
    faults.nextCall('unknown', { script: 'own.set' });
    await expect(call('c')).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    faults.nextCall('unknown', { runs: false });
    await expect(call('d')).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    faults.nextCall('refused');
    await expect(call('e')).rejects.toMatchObject({ code: 'SCRIPT_REFUSED', redisCode: 'OOM' });
    expect(redis.server.db.keys().sort()).toEqual(['a', 'c']);
  });

  it('that did not happen are reported by clear() and by the end of the app', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const [, testing] = await openMemory();
    testing.faults.nextCall('unknown', { script: 'lock.acquire', runs: false });
    testing.clear();
    testing.faults.nextCall('not-sent');
    testing.faults.clear();
    testing.faults.nextCall('refused');
    await apps.pop()?.close();
    const texts = warn.mock.calls.map(([text]) => String(text));
    warn.mockRestore();
    const rest =
      ' did not happen, because no such call was sent to Redis after it. Calls that are sent together use up one fault. ' +
      'If the test expects no call, call faults.clear().';
    expect(texts).toEqual([
      `faults.nextCall('unknown', {"script":"lock.acquire","runs":false})${rest}`,
      `faults.nextCall('refused')${rest}`,
    ]);
  });

  it('are refused for a script that does not exist', async () => {
    const [, { faults }] = await openMemory();
    const named = (options: FaultOptions) => () => faults.nextCall('unknown', options);
    expect(named({ script: 'lock.aquire' })).toThrow(
      /^LuanestTesting.faults.nextCall: script is "lock.aquire". Expected a script that the app has registered: .*lock.acquire, /,
    );
    expect(named({ script: 'once.claim ' })).toThrow('script is "once.claim ".');
    expect(faults.pending).toBe(0);
  });

  it('are refused if they are invalid', async () => {
    const [, { faults }] = await openMemory();
    expect(() => faults.nextCall('lost' as never)).toThrow(
      `LuanestTesting.faults.nextCall: fault is "lost". Expected one of 'not-sent', 'unknown', 'refused'.`,
    );
  });

  it('reach what the app does then: a rule with onRedisError', async () => {
    const [, testing] = await openMemory();
    const limits = apps.at(-1)?.get(RateLimitService) as RateLimitService;
    await testing.faults.redisDown();
    await expect(limits.consume(rule, 'ann')).resolves.toMatchObject({ allowed: false, source: 'policy' });
    await testing.faults.redisUp();
    await expect(limits.consume(rule, 'ann')).resolves.toMatchObject({ allowed: true, source: 'redis' });
  });
});
