import { NestFactory } from '@nestjs/core';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { PostgresServer } from '../../../test/app/support/postgres-server.js';
import { follow } from '../../../test/support/reader.js';
import { endPods, startPods, type Pod } from '../../../test/support/pods.js';
import { eventually } from '../../../test/support/wait.js';

describe('checkout, on two pods', () => {
  let redis: RedisServer;
  let postgres: PostgresServer;
  let pods: Pod[];

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), PostgresServer.start()]);
    pods = await startPods(2, 'checkout', { REDIS_URL: redis.url, DATABASE_URL: postgres.url });
  });
  afterAll(async () => {
    await endPods(pods);
    await Promise.all([postgres.stop(), redis.stop()]);
  });

  /** Cancels what is not paid now, instead of after a minute. */
  async function endTimeOf(orderId: string): Promise<void> {
    class Operator {}
    const imports = [ScriptRegistryModule.forRoot({ url: redis.url }), DelayedTaskModule.forRoot({ work: false })];
    const operator = await NestFactory.createApplicationContext({ module: Operator, imports }, { logger: false });
    const tasks = operator.get(DelayedTaskService);
    // The task is there when the outbox has sent it.
    const rescheduled = async (): Promise<void> =>
      expect(await tasks.reschedule(orderId, { delayMs: 0 })).toMatchObject({ status: 'rescheduled' });
    await eventually(rescheduled).finally(() => operator.close());
  }
  async function place(pod: Pod | undefined, key: string): Promise<string> {
    const order = { email: `${key}@example.org`, cents: 500 };
    const { status, body } = await (pod as Pod).post('/orders', order, { 'x-user': 'ann', 'idempotency-key': key });
    expect(status).toBe(201);
    return (body as { orderId: string }).orderId;
  }
  const mailsTo = (key: string): number =>
    pods.reduce((sum, { output }) => sum + output.split(`Mail to ${key}@example.org`).length - 1, 0);
  const statusOf = async (orderId: string): Promise<unknown> =>
    (await (pods[0] as Pod).request('GET', `/orders/${orderId}`)).body;

  it('does what the README shows', async () => {
    await follow((pods[0] as Pod).url, 'examples/checkout/README.md');
    await eventually(() => expect(mailsTo('ann')).toBe(1));
  });

  it('makes one order of repeats on both pods, sends one mail, and cancels what nobody pays', async () => {
    const [paid, unpaid] = [await place(pods[0], 'paid'), await place(pods[0], 'unpaid')];
    expect([await place(pods[1], 'paid'), await place(pods[1], 'unpaid')]).toEqual([paid, unpaid]);

    const pay = () => (pods[1] as Pod).request('POST', `/orders/${paid}/payment`);
    expect((await pay()).body).toEqual({ status: 'paid' });
    expect((await pay()).status).toBe(409);

    expect([await statusOf(paid), await statusOf(unpaid)]).toEqual([{ status: 'paid' }, { status: 'open' }]);

    await endTimeOf(unpaid);
    await eventually(async () => expect(await statusOf(unpaid)).toEqual({ status: 'cancelled' }));
    expect(await statusOf(paid)).toEqual({ status: 'paid' });
    await eventually(() => expect([mailsTo('paid'), mailsTo('unpaid')]).toEqual([1, 1]));
  });
});
