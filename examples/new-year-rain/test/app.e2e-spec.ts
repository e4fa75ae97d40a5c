import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { PostgresServer } from '../../../test/app/support/postgres-server.js';
import { follow } from '../../../test/support/reader.js';
import { endPods, startPods, type Pod } from '../../../test/support/pods.js';
import { eventually } from '../../../test/support/wait.js';

const TOTAL_CENTS = 8_888;
const BOSS = { 'x-user': 'boss' };

interface Grab {
  readonly status: string;
  readonly packet: { readonly packetId: string; readonly amountCents: number };
}

describe('a New Year rain, on two pods', () => {
  let redis: RedisServer;
  let postgres: PostgresServer;
  let pods: Pod[];

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), PostgresServer.start()]);
    pods = await startPods(2, 'new-year-rain', { REDIS_URL: redis.url, DATABASE_URL: postgres.url });
  });
  afterAll(async () => {
    await endPods(pods);
    await Promise.all([postgres.stop(), redis.stop()]);
  });

  it('does what the README shows', async () => {
    await follow((pods[0] as Pod).url, 'examples/new-year-rain/README.md');
  });

  it('lets only the boss make rains', async () => {
    const rain = { activityId: 'mine', total: '1.00', packets: 1 };
    expect((await (pods[0] as Pod).post('/red-packets', rain, { 'x-user': 'ann' })).status).toBe(403);
  });

  it('gives each user one packet on any pod, books each once, and every cent adds up', async () => {
    const [one, two] = pods as [Pod, Pod];
    await one.post('/red-packets', { activityId: 'rain', totalCents: TOTAL_CENTS, packets: 30 }, BOSS);
    const users = Array.from({ length: 20 }, (_, n) => `user-${n}`);
    const grab = async (pod: Pod, user: string) =>
      (await pod.request('POST', '/red-packets/rain/grab', { headers: { 'x-user': user } })).body as Grab;
    const won = await Promise.all(
      users.map(async (user) => {
        const grabs = await Promise.all([grab(one, user), grab(two, user), grab(two, user)]);
        expect(grabs.map(({ status }) => status).sort()).toEqual(['already-won', 'already-won', 'won']);
        expect(new Set(grabs.map(({ packet }) => packet.packetId)).size).toBe(1);
        return grabs[0].packet;
      }),
    );
    expect(new Set(won.map(({ packetId }) => packetId)).size).toBe(20);
    const paidCents = won.reduce((sum, { amountCents }) => sum + amountCents, 0);

    await two.request('POST', '/red-packets/rain/close', { headers: BOSS });
    await eventually(async () => {
      const { body } = await one.request('GET', '/ledger/rain');
      expect(body).toEqual({ payouts: 20, paidCents, refundedCents: TOTAL_CENTS - paidCents });
    });
    const { body } = await one.request('GET', '/red-packets/rain/audit?deep=true', { headers: BOSS });
    expect(body).toMatchObject({ ok: true });
  });
});
