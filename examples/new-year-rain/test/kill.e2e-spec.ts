import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { PostgresServer } from '../../../test/app/support/postgres-server.js';
import { endPods, startPods, type Pod } from '../../../test/support/pods.js';
import { eventually } from '../../../test/support/wait.js';

const TOTAL_CENTS = 100_000;
const USERS = 150;
const BOSS = { 'x-user': 'boss' };

describe('a New Year rain, whose pods are killed', () => {
  let redis: RedisServer;
  let postgres: PostgresServer;
  const pods: Pod[] = [];

  const startOne = async (): Promise<void> => {
    pods.push(...(await startPods(1, 'new-year-rain', { REDIS_URL: redis.url, DATABASE_URL: postgres.url })));
  };
  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), PostgresServer.start()]);
    await startOne();
    await startOne();
  });
  afterAll(async () => {
    await endPods(pods);
    await Promise.all([postgres.stop(), redis.stop()]);
  });

  it('gives each user one packet, books each once, and every cent adds up', async () => {
    const rain = { activityId: 'rain', totalCents: TOTAL_CENTS, packets: 200 };
    await (pods[0] as Pod).post('/red-packets', rain, BOSS);
    let answered = 0;
    /** Grabs until an app answers, as a user does. */
    const grab = async (n: number): Promise<number> => {
      await eventually(() => expect(n).toBeLessThan(answered + 20), { timeoutMs: 60_000 });
      const headers = { 'x-user': `user-${n}` };
      return eventually(
        async () => {
          const { body } = await (pods.at(-1 - (n % 2)) as Pod).request('POST', '/red-packets/rain/grab', { headers });
          expect(body).toMatchObject({ packet: { amountCents: expect.any(Number) } });
          answered++;
          return (body as { packet: { amountCents: number } }).packet.amountCents;
        },
        { timeoutMs: 60_000 },
      );
    };
    const grabbing = Promise.all(Array.from({ length: USERS }, (_, n) => grab(n)));
    for (let killed = 0; killed < 3; killed++) {
      await eventually(() => expect(answered).toBeGreaterThan(killed * 20));
      await pods.at(-2)?.end('SIGKILL');
      await startOne();
    }
    const paidCents = (await grabbing).reduce((sum, cents) => sum + cents, 0);
    const pod = pods.at(-1) as Pod;
    await pod.request('POST', '/red-packets/rain/close', { headers: BOSS });
    // Payouts of a killed pod are taken over when its lease has ended.
    await eventually(
      async () => {
        const { body } = await pod.request('GET', '/ledger/rain');
        expect(body).toEqual({ payouts: USERS, paidCents, refundedCents: TOTAL_CENTS - paidCents });
      },
      { timeoutMs: 90_000 },
    );
    const { body } = await pod.request('GET', '/red-packets/rain/audit?deep=true', { headers: BOSS });
    expect(body).toMatchObject({ ok: true });
  });
});
