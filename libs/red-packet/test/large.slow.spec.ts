import { Redis } from 'ioredis';
import { startFaultProxy, startRedis } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet } from './support';
import { size } from '../../../test/support/size';

const PACKETS = size(60_000, 1_000_000);
const BUCKETS = size(2, 4);

/** CPU time that the main thread of Redis has used, ms. */
async function cpuMs(client: Redis): Promise<number> {
  const seconds = (await client.info('cpu')).matchAll(/used_cpu_\w+_main_thread:([\d.]+)/g);
  return 1_000 * [...seconds].reduce((sum, [, part]) => sum + Number(part), 0);
}

describe(`${PACKETS} packets`, () => {
  it('are preheated in chunks by a process that is cut off and another that resumes, and counted one by one', async () => {
    const server = await startRedis();
    const proxy = await startFaultProxy(server);
    const activity = {
      activityId: 'big',
      totalCents: PACKETS * 88,
      packets: PACKETS,
      maxCents: 20_000,
      buckets: BUCKETS,
    };
    const first = await openBench(quiet(new Redis(proxy.port, { retryStrategy: () => 20 })), {
      prefix: 'large',
      deadlineMs: 3_000,
    });
    const direct = await openBench(quiet(new Redis(server.port)), { prefix: 'large', deadlineMs: 30_000 });
    try {
      const keys = first.bucketsOf('big', BUCKETS);
      const filled = async (): Promise<number> =>
        (await Promise.all(keys.map(({ pool }) => direct.raw.llen(pool)))).reduce((sum, length) => sum + length, 0);
      const cut = first.packets.create(activity).catch((error: unknown) => error);
      await eventually(async () => expect(await filled()).toBeGreaterThan(PACKETS / 2), { everyMs: 1 });
      proxy.refuse();
      expect(await cut).toMatchObject({ code: expect.stringMatching(/^(NOT_SENT|UNKNOWN_OUTCOME)$/) });
      const before = await filled();
      expect(before).toBeLessThan(PACKETS);
      expect(await direct.packets.grab('big', 'u')).toMatchObject({ status: 'not-open', reason: 'draft' });
      expect(await direct.packets.status('big')).toMatchObject({ state: 'draft', remainingPackets: PACKETS });

      expect(await direct.packets.create(activity)).toMatchObject({ created: true });
      expect(await filled()).toBe(PACKETS);
      expect((await direct.packets.grab('big', 'u')).status).toBe('won');
      expect(await direct.packets.audit('big', { deep: true })).toMatchObject({
        ok: true,
        problems: [],
        total: { packets: PACKETS, cents: PACKETS * 88 },
        deep: { quiet: true, pool: { packets: PACKETS - 1 }, granted: { packets: 1 } },
      });
      // A script that handled all packets would need much more CPU; its time says less, since the machine may be busy.
      const usedMs = await cpuMs(direct.raw);
      expect(await direct.packets.close('big')).toMatchObject({ refundedPackets: PACKETS - 1 });
      expect((await cpuMs(direct.raw)) - usedMs).toBeLessThan(150);
    } finally {
      [first, direct].forEach((bench) => bench.close());
      await proxy.stop();
      await server.stop();
    }
  }, 120_000);
});
