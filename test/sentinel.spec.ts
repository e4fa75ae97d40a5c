import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import { freePort } from './support/free-port';
import { guardProcess } from './support/process-guard';
import { RedisServer } from './support/redis-server';
import { eventually } from './support/wait';

/** One Sentinel that is enough to fail over. */
async function startSentinel(master: RedisServer): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'luanest-sentinel-'));
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor main ${master.host} ${master.port} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 5000',
  ];
  writeFileSync(join(dir, 'sentinel.conf'), lines.join('\n'));
  const child: ChildProcess = spawn('redis-server', [join(dir, 'sentinel.conf'), '--sentinel'], { stdio: 'ignore' });
  const guard = guardProcess(child.pid as number, dir);
  return {
    port,
    async stop() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      guard.release();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

let master: RedisServer;
let replica: RedisServer;
let sentinel: Awaited<ReturnType<typeof startSentinel>>;
let client: Redis;
let app: TestingModule;

beforeAll(async () => {
  // Redis waits 5 s for further replicas otherwise.
  const args = ['--repl-diskless-sync-delay', '0'];
  [master, replica] = await Promise.all([RedisServer.start({ args }), RedisServer.start({ args })]);
  const admin = new Redis(replica.port, replica.host);
  await admin.replicaof(master.host, String(master.port));
  await eventually(async () => expect(await admin.info('replication')).toContain('master_link_status:up'));
  admin.disconnect();
  sentinel = await startSentinel(master);
  const watch = new Redis({ host: '127.0.0.1', port: sentinel.port, retryStrategy: () => 50 });
  watch.on('error', () => undefined);
  await eventually(async () => expect(await watch.call('SENTINEL', 'REPLICAS', 'main')).toHaveLength(1), {
    timeoutMs: 20_000,
  });
  watch.disconnect();
  client = new Redis({
    sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
    name: 'main',
    retryStrategy: () => 50,
    sentinelRetryStrategy: () => 50,
  });
  client.on('error', () => undefined);
  app = await Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required', deadlineMs: 60_000 }),
      LockModule.forRoot({}),
      OnceModule.forRoot({}),
      DelayedTaskModule.forRoot({ work: true }),
    ],
  }).compile();
  await app.init();
});
afterAll(async () => {
  await app.close();
  client.disconnect();
  await Promise.all([sentinel.stop(), master.stop(), replica.stop()]);
});

it('goes on with the replica that a Sentinel promotes when the master is killed', async () => {
  const [locks, once_, tasks] = [app.get(LockService), app.get(OnceService), app.get(DelayedTaskService)];
  const ran: number[] = [];
  tasks.process('late', ({ n }: { n: number }) => void ran.push(n));
  await tasks.schedule('late', { n: 1 }, { delayMs: 1_000 });
  const before = await locks.acquire('held', { leaseMs: 60_000 });
  expect(await once_.first('a')).toBe(true);
  const admin = new Redis(replica.port, replica.host);
  await eventually(async () => expect(await admin.dbsize()).toBe(await client.dbsize()));

  await master.kill();
  // Made while nobody is the master: held until there is one.
  const first = once_.first('b');
  await eventually(async () => expect(await admin.info('replication')).toContain('role:master'), { timeoutMs: 60_000 });
  expect(await first).toBe(true);
  expect(await once_.first('a')).toBe(false);
  expect(await locks.tryAcquire('held')).toBeUndefined();
  expect(await before.release()).toBe('released');
  await eventually(() => expect(ran).toEqual([1]), { timeoutMs: 30_000 });
  expect(await app.get(ScriptRegistry).health()).toEqual({ healthy: true, problems: [] });
  admin.disconnect();
  // A Sentinel that stood still for two seconds decides nothing for the next thirty.
}, 150_000);
