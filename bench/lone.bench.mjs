// One call after another, as most calls of a fleet are: what a call costs Redis and Node, and how long it takes.
import { createRequire } from 'node:module';
import { CLIENTS, collect, costOf, measure, rounds, row, startRedis } from './harness.mjs';
import { ALL, ON_IOREDIS, openOperations } from './operations.mjs';

const require = createRequire(import.meta.url);

const ROUNDS = 15;
const CALLS = 1_000;
const WARM_UP = 3_000;
const PACKETS = 20_000;

const FIGURES = {
  'redis-cpu': ['µs Redis CPU/call', (run) => run.redisMicros],
  'redis-time': ['µs EVALSHA/call', (run) => run.scriptMicros],
  'node-cpu': ['µs Node CPU/call', (run) => run.nodeMicros],
  wall: ['µs/call', (run) => 1e6 / run.perSecond],
};

export async function run(print) {
  const server = await startRedis();
  const { rows, add } = collect(print);
  for (const [suffix, client] of Object.entries(CLIENTS)) {
    const { Redis } = require(client);
    const admin = new Redis(server.port, '127.0.0.1');
    const { operations, stock, close } = await openOperations(server.port, {
      client,
      contenders: client === 'ioredis' ? ALL : ON_IOREDIS,
    });
    for (const [name, callers] of Object.entries(operations)) {
      await admin.flushall();
      if (name === 'grab') for (const fill of Object.values(stock)) await fill('lone', PACKETS);
      const contenders = (calls) =>
        Object.fromEntries(
          Object.entries(callers).map(([who, call]) => [
            who,
            () => costOf(admin, calls, () => measure(() => call(next[who]++, 'lone'), calls, 1)),
          ]),
        );
      const next = Object.fromEntries(Object.keys(callers).map((who) => [who, 0]));
      // Not measured, because the compiler optimises the code during the first calls, and keys are new.
      await rounds(1, contenders(WARM_UP), async () => {});
      const figures = await rounds(ROUNDS, contenders(CALLS), async () => {});
      for (const [figure, [unit, pick]] of Object.entries(FIGURES)) {
        add(row(`${name}-${figure}${suffix}`, unit, figures, pick, true));
      }
    }
    await close();
    admin.disconnect();
  }
  server.stop();
  return rows;
}
