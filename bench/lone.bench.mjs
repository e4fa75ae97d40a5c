// One call after another, as most calls of a fleet are: what a call costs Redis and Node, and how long it takes.
import { createRequire } from 'node:module';
import { CLIENTS, collect, measure, redisUsage, rounds, row, startRedis } from './harness.mjs';
import { openOperations } from './operations.mjs';

const require = createRequire(import.meta.url);

const ROUNDS = 15;
const CALLS = 1_000;
const WARM_UP = 3_000;
const PACKETS = 20_000;

const FIGURES = {
  'redis-cpu': 'µs Redis CPU/call',
  'redis-time': 'µs EVALSHA/call',
  'node-cpu': 'µs Node CPU/call',
  wall: 'µs/call',
};

/** Makes the calls, one after another. Returns what each cost. */
async function cost(admin, call, calls) {
  const before = await redisUsage(admin);
  const { perSecond, cpuMicros } = await measure(call, calls, 1);
  const after = await redisUsage(admin);
  return {
    'redis-cpu': (after.cpuMicros - before.cpuMicros) / calls,
    'redis-time': (after.scriptMicros - before.scriptMicros) / calls,
    'node-cpu': cpuMicros,
    wall: 1e6 / perSecond,
  };
}

export async function run(print) {
  const server = await startRedis();
  const { rows, add } = collect(print);
  for (const [suffix, client] of Object.entries(CLIENTS)) {
    const { Redis } = require(client);
    const admin = new Redis(server.port, '127.0.0.1');
    const { operations, stock, close } = await openOperations(Redis, server.port);
    for (const [name, callers] of Object.entries(operations)) {
      await admin.flushall();
      if (name === 'grab') for (const fill of Object.values(stock)) await fill('lone', PACKETS);
      const contenders = (calls) =>
        Object.fromEntries(
          Object.entries(callers).map(([who, call]) => [
            who,
            () => cost(admin, () => call(next[who]++, 'lone'), calls),
          ]),
        );
      const next = Object.fromEntries(Object.keys(callers).map((who) => [who, 0]));
      // Not measured, because the compiler optimises the code during the first calls, and keys are new.
      await rounds(1, contenders(WARM_UP), async () => {});
      const figures = await rounds(ROUNDS, contenders(CALLS), async () => {});
      for (const [figure, unit] of Object.entries(FIGURES)) {
        add(row(`${name}-${figure}${suffix}`, unit, figures, (run) => run[figure], true));
      }
    }
    await close();
    admin.disconnect();
  }
  server.stop();
  return rows;
}
