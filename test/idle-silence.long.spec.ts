// A connection for channels that dies without a sign, as behind a firewall that forgot it. It takes three checks, 15 s, to notice.
import type { Redis } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { connect, handledAfter, SLEEPERS } from './support/sleepers';
import { uniquePrefix } from './support/shared-servers';
import { sleep } from './support/wait';

const NOTICED_MS = 15_000;
/** For a machine that stands still. */
const SLACK_MS = 10_000;

describe.each(SLEEPERS)('an idle %s', (_, open) => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
    admin = connect(server.port);
  });
  afterAll(async () => {
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  it('wakes for what was sent while its connection for channels was dead, also if no new one can be made', async () => {
    const sleeper = await open(connect(server.port, proxy.port), uniquePrefix());
    await sleeper.asleep(admin);
    proxy.blackhole();
    const sentAt = performance.now();
    await sleeper.send(1);
    await sleep(1_000);
    expect(sleeper.handled).toEqual([]);
    const afterMs = await handledAfter(sleeper, 1, sentAt, NOTICED_MS + SLACK_MS);
    expect(afterMs).toBeLessThan(NOTICED_MS + SLACK_MS);
    proxy.pass();
    // The new connection may still be the one that was begun in the silence.
    await sleeper.asleep(admin);
    const secondAt = performance.now();
    await sleeper.send(2);
    expect(await handledAfter(sleeper, 2, secondAt, SLACK_MS)).toBeLessThan(SLACK_MS);
    await sleeper.close();
  });
});
