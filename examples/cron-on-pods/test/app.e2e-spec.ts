import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { follow } from '../../../test/support/reader.js';
import { endPods, startPods, type Pod } from '../../../test/support/pods.js';
import { eventually } from '../../../test/support/wait.js';

describe('cron on pods, on two pods', () => {
  let redis: RedisServer;
  let pods: Pod[];

  beforeAll(async () => {
    redis = await startRedis();
    pods = await startPods(2, 'cron-on-pods', { REDIS_URL: redis.url, REPORT_CRON: '* * * * * *' });
  });
  afterAll(async () => {
    await endPods(pods);
    await redis.stop();
  });

  const reports = (): string[] =>
    pods.flatMap(({ output }) => [...output.matchAll(/Report of (\d\S+)/g)].map(([, slot = '']) => slot));

  it('runs each tick once', async () => {
    const history = async (): Promise<{ slot: string; status: string }[]> =>
      (await (pods[1] as Pod).request('GET', '/jobs/report')).body as { slot: string; status: string }[];
    // Both pods have seen two ticks, and their runs have ended: a run enters the history when it ends.
    await eventually(async () => {
      const entries = await history();
      const skipped = entries.filter(({ status }) => status === 'skipped-slot' || status === 'skipped-held');
      expect(new Set(skipped.map(({ slot }) => slot)).size).toBeGreaterThanOrEqual(2);
      expect(entries.filter(({ status }) => status === 'ran').length).toBeGreaterThanOrEqual(2);
    });
    const ran = (await history()).filter(({ status }) => status === 'ran').map(({ slot }) => slot);
    await eventually(() => expect(reports()).toEqual(expect.arrayContaining(ran)));
    expect(new Set(reports()).size).toBe(reports().length);
  });

  it('does what the README shows', async () => {
    await follow((pods[0] as Pod).url, 'examples/cron-on-pods/README.md');
    expect((await (pods[0] as Pod).request('GET', '/jobs/unknown')).status).toBe(404);
  });
});
