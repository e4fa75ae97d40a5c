import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { endPods, startPods, type Pod } from '../../../test/support/pods.js';
import { waitUntil } from '../../../test/support/wait.js';

describe('cron on pods, of which one dies', () => {
  let redis: RedisServer;
  let pods: Pod[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    pods = await startPods(2, 'cron-on-pods', { REDIS_URL: redis.url, EXPORT_CRON: '*/10 * * * * *' });
  });
  afterAll(async () => {
    await endPods(pods);
    await redis.stop();
  });

  it('renews the lease of the export, and takes the tick over when its pod is killed', async () => {
    const begins = /Export of (\S+) begins/;
    const first = await waitUntil('a pod exports', () => pods.find(({ output }) => begins.test(output)), 30_000);
    const other = pods.find((pod) => pod !== first) as Pod;
    const [, slot = ''] = begins.exec(first.output) as RegExpExecArray;
    // Six pages take longer than the lease.
    await first.printed(/: page 6 of/);
    expect(other.output).not.toContain(`Export of ${slot} begins`);
    await first.end('SIGKILL');
    await other.printed(new RegExp(`Export of ${slot} begins`));
    await other.printed(new RegExp(`Export of ${slot} is done`));
    expect(first.output).not.toContain(`Export of ${slot} is done`);
  });
});
