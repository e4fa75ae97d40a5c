// 512 calls in flight in one process, compared with the library and the plain script of the same job, on ioredis, which writes
// each call, and on node-redis, which writes the calls of a turn of the event loop together.
import { createRequire } from 'node:module';
import { collect, costOf, COSTS, measure, rounds, row, startRedis } from './harness.mjs';
import { ALL, openOperations } from './operations.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');

const ROUNDS = 7;
const CALLS = 40_000;
const IN_FLIGHT = 512;

export async function run(print) {
  const server = await startRedis();
  const { rows, add } = collect(print);
  const admin = new Redis(server.port, '127.0.0.1');
  const { operations, stock, close } = await openOperations(server.port, { contenders: ALL });
  let [turn, next] = [0, 0];
  for (const name of ['limit', 'lock-pair', 'grab']) {
    const contenders = Object.fromEntries(
      Object.entries(operations[name]).map(([who, call]) => [
        who,
        () => costOf(admin, CALLS, () => measure(() => call(next++, `crowd-${turn}`), CALLS, IN_FLIGHT)),
      ]),
    );
    const prepare = async (who) => {
      turn += 1;
      if (name !== 'grab') return;
      await admin.flushall();
      await stock[who](`crowd-${turn}`, CALLS);
    };
    // Not measured, because the compiler optimises the code during the first calls, and keys are new.
    await rounds(1, contenders, prepare);
    const figures = await rounds(ROUNDS, contenders, prepare);
    for (const [figure, [end, unit, lowerIsBetter]] of Object.entries(COSTS)) {
      add(row(`${name}-512${end}`, unit, figures, (run) => run[figure], lowerIsBetter));
    }
  }
  await close();
  admin.disconnect();
  server.stop();
  return rows;
}
