import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { ScriptRegistry, ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { startSentinel, type RedisSentinel } from 'luanest/testing/servers';
import { createSentinel } from 'redis';
import { createSentinel as createSentinel5 } from 'redis5';
import { eventually } from './support/wait';

interface Client {
  readonly client: NonNullable<ScriptRegistryModuleOptions['client']>;
  readonly end: () => unknown;
}

function ofIoredis({ sentinels, name }: RedisSentinel): Client {
  const client = new Redis({ sentinels, name, retryStrategy: () => 50, sentinelRetryStrategy: () => 50 });
  client.on('error', () => undefined);
  return { client, end: () => client.disconnect() };
}

function ofNodeRedis(create: typeof createSentinel, { sentinels, name }: RedisSentinel): Client {
  const client = create({ name, sentinelRootNodes: [...sentinels], scanInterval: 200 });
  client.on('error', () => undefined);
  return { client, end: () => client.destroy() };
}

describe.each([
  ['ioredis', ofIoredis],
  ['node-redis 6', (group: RedisSentinel) => ofNodeRedis(createSentinel, group)],
  ['node-redis 5', (group: RedisSentinel) => ofNodeRedis(createSentinel5 as unknown as typeof createSentinel, group)],
])('a Sentinel group with %s', (_, open) => {
  let group: RedisSentinel;
  let made: Client;
  let app: TestingModule;

  beforeAll(async () => {
    group = await startSentinel();
    made = open(group);
    app = await Test.createTestingModule({
      imports: [
        ScriptRegistryModule.forRoot({ client: made.client, preload: 'required', deadlineMs: 60_000 }),
        LockModule.forRoot({}),
        OnceModule.forRoot({}),
        DelayedTaskModule.forRoot({ work: true }),
      ],
    }).compile();
    await app.init();
  });
  afterAll(async () => {
    await app.close();
    await made.end();
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
    const [admin, source] = [replica, master].map((node) => new Redis(node!.port, node!.host)) as [Redis, Redis];
    source.on('error', () => undefined);
    await eventually(async () => expect(await admin.dbsize()).toBe(await source.dbsize()));
    source.disconnect();

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
});
