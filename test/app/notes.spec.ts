import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { clusterClient, openRegistry, standaloneClient } from '../../libs/script-registry/test/support';
import { type CountRecord, CountRecords, countScripts } from '../../src/monitoring/audit/count-records';
import { NodeReports, nodeScripts } from '../../src/monitoring/nodes/node-reports';
import { uniquePrefix } from '../support/shared-servers';
import { waitUntil } from '../support/wait';

// What the app itself keeps in Redis.
const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];

describe.each(servers)('notes of the app on %s', (_name, connect) => {
  let client: Redis | Cluster;
  let registry: ScriptRegistry;

  beforeAll(async () => {
    client = connect();
    if (client.status !== 'ready') await once(client, 'ready');
    const scripts = [...nodeScripts, ...countScripts];
    registry = await openRegistry(client, { preload: 'required', prefix: uniquePrefix() }, scripts);
  });
  afterAll(() => {
    registry.close();
    client.disconnect();
  });

  const record = (fence: number, problems: string[] = []): CountRecord => ({
    atMs: 1,
    node: 'n',
    fence,
    tookMs: 1,
    ok: problems.length === 0,
    quiet: true,
    problems,
    granted: { packets: 1, cents: 2 },
    pool: { packets: 3, cents: 4 },
    refunded: { packets: 0, cents: 0 },
    paid: undefined,
    outboxRows: 0,
  });

  it('keeps the last count of a rain, and none under a lock that was lost', async () => {
    const records = new CountRecords(registry);
    expect(await records.last('a rain {1}')).toBeUndefined();
    // Fences are times in microseconds: 16 digits, which must not be rounded.
    expect(await records.note('a rain {1}', record(1_795_253_993_399_718))).toBe(true);
    expect(await records.note('a rain {1}', record(1_795_253_993_399_719))).toBe(true);
    expect(await records.note('a rain {1}', record(1_795_253_993_399_718, ['late']))).toBe(false);
    expect(await records.last('a rain {1}')).toEqual(record(1_795_253_993_399_719));
    expect(await records.note('a rain {1}', record(1_795_253_993_399_719, ['again']))).toBe(true);
    expect(await records.last('a rain {1}')).toMatchObject({ ok: false, problems: ['again'] });
    expect(await records.last('another')).toBeUndefined();
    const key = registry.keySpace('app').tag('a rain {1}').key('count');
    expect(await client.pttl(key)).toBeGreaterThan(0);
  });

  it("returns the reports of all processes that are not silent, and Redis' time", async () => {
    const reports = new NodeReports(registry);
    const before = Date.now();
    const first = await reports.exchange({ node: 'b:1', grabs: 1 }, 60_000);
    expect(first.reports).toEqual([{ node: 'b:1', grabs: 1 }]);
    // Both run on this machine.
    expect(Math.abs(first.nowMs - before)).toBeLessThan(60_000);
    const second = await reports.exchange({ node: 'a:1', grabs: 2 }, 60_000);
    expect(second.reports.map(({ node }) => node)).toEqual(['a:1', 'b:1']);
    await reports.forget('b:1');
    expect((await reports.exchange({ node: 'a:1', grabs: 3 }, 60_000)).reports).toEqual([{ node: 'a:1', grabs: 3 }]);
    await waitUntil('a silent one is forgotten', async () => {
      const { reports: all } = await reports.exchange({ node: 'c:1', grabs: 0 }, 20);
      return all.length === 1 && all[0]?.node === 'c:1';
    });
  });
});
