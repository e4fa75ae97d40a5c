import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { RateLimitEvents } from 'luanest/rate-limit';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { RedisWitness } from '../../../test/support/redis-witness';
import { openBench, standalone, type Bench } from './support';
import { size } from '../../../test/support/size';

const ROUNDS = size(3, 200);
const LIMIT = 5;
const DEADLINE_MS = 50;

/** Holds this process up, as rendering or a long garbage collection does. */
function stall(ms: number): void {
  // Blocks the thread, and leaves the core to others.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('a process that stalls', () => {
  let server: RedisServer;
  let bench: Bench;
  let witness: RedisWitness;
  const failures: RateLimitEvents['redisFailed'][] = [];
  const onFailure = (event: unknown): unknown => failures.push(event as RateLimitEvents['redisFailed']);

  beforeAll(async () => {
    server = await startRedis();
    witness = new RedisWitness(server.port);
    subscribe(RateLimitEvents.redisFailed, onFailure);
  });
  const open = async (): Promise<void> => {
    failures.length = 0;
    bench = await openBench(standalone({}, server.port), { deadlineMs: DEADLINE_MS });
  };
  beforeEach(open);
  afterEach(() => bench.close());
  afterAll(async () => {
    unsubscribe(RateLimitEvents.redisFailed, onFailure);
    await witness.stop();
    await server.stop();
  });

  const consume = (name: string, times: number): Promise<string>[] =>
    Array.from({ length: times }, async () => {
      const { allowed, source } = await bench.service.consume({ name, limit: LIMIT, windowMs: 600_000 }, 'one');
      return allowed ? source : 'refused';
    });
  const admitted = async (calls: Promise<string>[]): Promise<string[]> =>
    (await Promise.all(calls)).filter((outcome) => outcome !== 'refused');
  const five = Array<string>(LIMIT).fill('redis');

  /**
   * Plays rounds in which Redis must decide every call. A round in which Redis was slow for another thread, too, is played again:
   * on a loaded machine Redis may get no CPU time for a whole deadline.
   */
  async function play(rounds: number, round: (n: string) => Promise<string[]>): Promise<void> {
    let replayed = 0;
    for (let n = 0; n < rounds; n++) {
      witness.longestMs();
      const outcomes = await round(`${n}-${replayed}`);
      if (outcomes.includes('local') && witness.longestMs() > DEADLINE_MS / 5 && replayed < 10 * rounds) {
        replayed += 1;
        n -= 1;
        bench.close();
        await open();
      } else expect([n, outcomes]).toEqual([n, five]);
    }
    expect(failures).toEqual([]);
  }

  it.each([
    ['after it asked, before it wrote', 50, 80],
    ['after it asked, as long as the deadline', 50, 50],
    ['with more calls than are sent at once', 1_000, 80],
    ['with more groups than are out at once', 6_000, 80],
  ])(
    '%s: Redis decides every call',
    async (_what, calls, stallMs) => {
      await play(Math.ceil(ROUNDS / (calls > 1_000 ? 6 : 1)), (n) => {
        const outcomes = consume(`stall-${calls}-${stallMs}-${n}`, calls);
        stall(stallMs);
        return admitted(outcomes);
      });
    },
    240_000,
  );

  it('repeatedly, between turns of the event loop: Redis decides every call', async () => {
    await play(ROUNDS, (n) => {
      const outcomes = consume(`turns-${n}`, 60);
      let turns = 0;
      const render = (): void => {
        stall(30);
        if ((turns += 1) < 4) setImmediate(render);
      };
      setImmediate(render);
      return admitted(outcomes);
    });
  });

  it('during a check of a blocked subject, which needs two scripts: Redis decides', async () => {
    const rule = { name: 'blocked', limit: LIMIT, windowMs: 600_000 };
    const asking = await openBench(standalone({}, server.port), { deadlineMs: DEADLINE_MS }, { cachedRefusals: 0 });
    try {
      await asking.service.block(rule, 'one', 600_000);
      await play(ROUNDS, async () => {
        const decision = asking.service.consume(rule, 'one');
        // Written, and its reply not read yet.
        setImmediate(() => setImmediate(() => stall(80)));
        const { source, reason } = await decision;
        return source === 'redis'
          ? Array<string>(LIMIT).fill(reason === 'blocked' ? source : 'not blocked')
          : ['local'];
      });
    } finally {
      asking.close();
    }
  });

  it('still detects a Redis that does not answer, at the deadline and after the stall', async () => {
    server.pause();
    try {
      const began = performance.now();
      expect(await Promise.all(consume('silent', 1))).toEqual(['local']);
      const quiet = performance.now() - began;
      expect(quiet).toBeGreaterThanOrEqual(49);
      const stalled = performance.now();
      const outcome = consume('silent-stall', 1);
      stall(80);
      expect(await Promise.all(outcome)).toEqual(['local']);
      // The stall, what is left of the deadline, and what a busy machine adds to both.
      expect(performance.now() - stalled).toBeLessThan(80 + 50 + 200);
      expect(failures).toHaveLength(2);
    } finally {
      server.resume();
    }
  });
});
