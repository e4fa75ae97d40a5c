import { uniquePrefix } from '../../../test/support/shared-servers';
import { sleep } from '../../../test/support/wait';
import { openBench, servers, type Bench } from './support';

describe.each(servers)('those who wait for a lock on a %s', (_, client) => {
  let prefix: string;
  const benches: Bench[] = [];

  beforeEach(() => {
    prefix = uniquePrefix();
  });
  afterEach(() => {
    for (const bench of benches.splice(0)) bench.close();
  });

  async function open(options: Parameters<typeof openBench>[1] = {}): Promise<Bench> {
    const bench = await openBench(client(), options, { prefix });
    benches.push(bench);
    return bench;
  }

  it('get it in turn, although each takes it again at once', async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => open()));
    const rounds = clients.map(() => 0);
    let left = 160;
    await Promise.all(
      clients.map(async ({ locks }, i) => {
        while (left > 0) {
          await locks.withLock('busy', { waitMs: 60_000 }, async () => {
            if (left-- > 0) rounds[i] = (rounds[i] ?? 0) + 1;
            await sleep(10);
          });
        }
      }),
    );
    expect(Math.min(...rounds)).toBeGreaterThanOrEqual(10);
  }, 60_000);
});
