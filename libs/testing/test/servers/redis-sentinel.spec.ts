import { Redis } from 'ioredis';
import { startSentinel, type RedisSentinel } from 'luanest/testing/servers';
import { eventually } from '../../../../test/support/wait';

let group: RedisSentinel;
let client: Redis;

beforeAll(async () => {
  group = await startSentinel({ replicas: 2, sentinels: 3 });
  const { name, sentinels } = group;
  client = new Redis({ name, sentinels, retryStrategy: () => 50, sentinelRetryStrategy: () => 50 });
  client.on('error', () => undefined);
});
afterAll(async () => {
  client.disconnect();
  await group.stop();
});

it('names one master of three servers, and three Sentinels', async () => {
  expect(group.nodes).toHaveLength(3);
  expect(group.sentinels).toHaveLength(3);
  expect(await group.master()).toBe(group.nodes[0]);
});

it('fails over while all run, and when the master is killed; a client follows', async () => {
  const first = await group.master();
  await client.set('n', 1);
  const second = await group.failover();
  expect(second).not.toBe(first);
  expect(await group.master()).toBe(second);
  await eventually(async () => expect(await client.incr('n')).toBeGreaterThan(1));

  const third = await group.killMaster();
  expect(second.live).toBe(false);
  expect(third).not.toBe(second);
  await eventually(async () => expect(await client.incr('m')).toBeGreaterThan(0));
  // A Sentinel that stood still for two seconds decides nothing for the next thirty.
}, 150_000);
