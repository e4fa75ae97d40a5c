import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { Pool } from 'pg';
import { PostgresServer } from '../../../test/app/support/postgres-server.js';
import { endPods, startPods, type Pod } from '../../../test/support/pods.js';
import { eventually } from '../../../test/support/wait.js';

const ORDERS = 60;

describe('checkout, whose pods are killed', () => {
  let redis: RedisServer;
  let postgres: PostgresServer;
  let pool: Pool;
  const pods: Pod[] = [];

  const startOne = async (): Promise<void> => {
    const env = { REDIS_URL: redis.url, DATABASE_URL: postgres.url, PAY_WITHIN_MS: '2000' };
    pods.push(...(await startPods(1, 'checkout', env)));
  };
  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), PostgresServer.start()]);
    pool = new Pool({ connectionString: postgres.url });
    // The pool may learn that PostgreSQL stops before its own end.
    pool.on('error', () => undefined);
    await startOne();
    await startOne();
  });
  afterAll(async () => {
    await endPods(pods);
    await pool.end();
    await Promise.all([postgres.stop(), redis.stop()]);
  });

  /** Repeats a request with its key until it has an order, as a client does. 409: another request with the key may still run. */
  async function place(n: number): Promise<string> {
    const headers = { 'x-user': 'ann', 'idempotency-key': `k${n}` };
    return eventually(
      async () => {
        const pod = pods.at(-1 - (n % 2)) as Pod;
        const { status, body } = await pod.post('/orders', { email: `${n}@example.org`, cents: 1 }, headers);
        expect(status).toBe(201);
        return (body as { orderId: string }).orderId;
      },
      { timeoutMs: 90_000 },
    );
  }

  it('answers each key with one order, sends each of these a mail, and cancels each', async () => {
    const placing = Promise.all(Array.from({ length: ORDERS }, (_, n) => place(n)));
    for (let killed = 0; killed < 3; killed++) {
      await eventually(async () => {
        const { rows } = await pool.query<{ count: string }>('SELECT count(*) FROM orders');
        expect(Number(rows[0]?.count)).toBeGreaterThan(killed * 5);
      });
      await pods.at(-2)?.end('SIGKILL');
      await startOne();
    }
    const placed = await placing;
    expect(new Set(placed).size).toBe(ORDERS);
    const mails = (): string[] =>
      pods.flatMap(({ output }) => [...output.matchAll(/we have your order (\S+)/g)].map(([, id = '']) => id));
    // A killed pod may have made an order whose request never got a response: it has a mail, too, and is cancelled.
    await eventually(
      async () => {
        const { rows } = await pool.query<{ id: string; status: string }>('SELECT id, status FROM orders');
        expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(placed));
        expect(new Set(mails())).toEqual(new Set(rows.map(({ id }) => id)));
        expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['cancelled']));
      },
      { timeoutMs: 60_000 },
    );
  });
});
