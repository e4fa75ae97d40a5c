import { once } from 'node:events';
import { Redis } from 'ioredis';
import { defineScript, int } from 'luanest/script-registry';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { openRegistry, quiet } from '../../script-registry/test/support';
import { readHistory, scheduledLockScripts } from '../src/scheduled-lock.scripts';
import { Child } from './support';

let client: Redis;

beforeAll(() => {
  client = quiet(new Redis(sharedRedisUrl()));
});
afterEach(() => Child.killAll());
afterAll(() => client.disconnect());

/** A resource that refuses a fence below the greatest it has seen. */
const writeFenced = defineScript({
  name: 'test.write-fenced',
  keys: ['resource'],
  args: { fence: int },
  source: `
if tonumber(redis.call('GET', KEYS[1]) or '0') > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000)
return 1`,
  reply: (written: number) => written === 1,
});

it('the process that runs a job is stopped beyond its lease: another takes over, and the first one knows it', async () => {
  const prefix = uniquePrefix();
  const env = { PREFIX: prefix, LEASE_MS: '2000', PERIOD_MS: '100' };
  const first = Child.start('job-node.cjs', { ...env, NODE_NAME: 'first' });
  const [, slot, fence] = await first.prints(/running (\d+) (\d+)\n/);
  first.process.kill('SIGSTOP');
  const second = Child.start('job-node.cjs', { ...env, NODE_NAME: 'second' });
  const [, laterSlot, laterFence] = await second.prints(/running (\d+) (\d+)\n/);
  expect(Number(laterSlot)).toBeGreaterThan(Number(slot));
  expect(Number(laterFence)).toBeGreaterThan(Number(fence));
  first.process.send('look');
  first.process.kill('SIGCONT');
  const [, thrown, aborted] = await first.prints(/woke (\S+) (\S+)\n/);
  expect([thrown, aborted]).toEqual(['LOST', 'true']);
  await first.prints(new RegExp(`status lost ${fence}\n`));

  const registry = await openRegistry(client, { prefix }, [...scheduledLockScripts, writeFenced]);
  const tag = registry.keySpace('scheduled-lock').tag('default:job');
  const history = await registry.run(readHistory, { keys: { history: tag.key('history') }, args: {} });
  expect(history.find((record) => record.fence === Number(fence))).toMatchObject({ status: 'lost', node: 'first' });
  const keys = { resource: registry.keySpace('test').tag('resource').key('fence') };
  const writes = (by: string): Promise<boolean> => registry.run(writeFenced, { keys, args: { fence: Number(by) } });
  expect(await writes(String(laterFence))).toBe(true);
  expect(await writes(String(fence))).toBe(false);
  registry.close();
});

it('the process that runs a job is killed: another takes its slot where catch-up is asked for', async () => {
  const prefix = uniquePrefix();
  const env = { PREFIX: prefix, LEASE_MS: '3000', PERIOD_MS: '1500', CATCH_UP_MS: '600000' };
  const first = Child.start('job-node.cjs', { ...env, NODE_NAME: 'first' });
  await first.prints(/running (\d+) (\d+)\n/);
  const closed = once(first.process, 'close');
  first.process.kill('SIGKILL');
  await closed;
  // The last one: had it stood still beyond its lease before it was killed, it would have run a slot more.
  const [, slot, fence] = [...first.output.matchAll(/running (\d+) (\d+)\n/g)].at(-1) as RegExpExecArray;
  const second = Child.start('job-node.cjs', { ...env, PERIOD_MS: '1000000', NODE_NAME: 'second' });
  const [, sameSlot, laterFence] = await second.prints(/running (\d+) (\d+)\n/);
  expect(sameSlot).toBe(slot);
  expect(Number(laterFence)).toBeGreaterThan(Number(fence));
});
