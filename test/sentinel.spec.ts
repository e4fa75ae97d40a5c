import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import { startSentinel, type RedisSentinel } from 'luanest/testing/servers';
import { eventually } from './support/wait';

let group: RedisSentinel;
let client: Redis;
let app: TestingModule;

beforeAll(async () => {
  group = await startSentinel();
  client = new Redis({
    sentinels: group.sentinels,
    name: group.name,
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
  await group.stop();
});

it('goes on with the replica that a Sentinel promotes when the master is killed', async () => {
  const [locks, once_, tasks] = [app.get(LockService), app.get(OnceService), app.get(DelayedTaskService)];
  const ran: number[] = [];
  tasks.handle('late', ({ n }: { n: number }) => void ran.push(n));
  await tasks.schedule('late', { n: 1 }, { delayMs: 1_000 });
  const before = await locks.acquire('held', { leaseMs: 60_000 });
  expect(await once_.first('a')).toBe(true);
  const [master, replica] = group.nodes;
  const admin = new Redis(replica!.port, replica!.host);
  await eventually(async () => expect(await admin.dbsize()).toBe(await client.dbsize()));

  expect(await group.master()).toBe(master);
  const promoted = group.killMaster();
  // Made while nobody is the master: held until there is one.
  await eventually(() => expect(master!.live).toBe(false));
  const first = once_.first('b');
  expect(await promoted).toBe(replica);
  expect(await first).toBe(true);
  expect(await once_.first('a')).toBe(false);
  expect(await locks.tryAcquire('held')).toBeUndefined();
  expect(await before.release()).toBe('released');
  await eventually(() => expect(ran).toEqual([1]), { timeoutMs: 30_000 });
  expect(await app.get(ScriptRegistry).health()).toEqual({ healthy: true, problems: [] });
  admin.disconnect();
  // A Sentinel that stood still for two seconds decides nothing for the next thirty.
}, 150_000);
