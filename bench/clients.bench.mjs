// The same calls of luanest on each client that it takes: alone, 512 in flight, and in a fleet of processes.
import { createRequire } from 'node:module';
import { collect, COSTS, costOf, measure, rounds, row, startRedis } from './harness.mjs';
import { ON_CLIENTS, openOperations } from './operations.mjs';
import { costInFleet, pin, startFleet, warmUp } from './processes.mjs';

const { Redis } = createRequire(import.meta.url)('ioredis');

const OPERATIONS = ['limit', 'lock-pair', 'grab', 'schedule', 'publish'];
/** Calls of a round, by the number in flight, and rounds. */
const SHAPES = { 1: { calls: 1_000, warmUp: 3_000, count: 11 }, 512: { calls: 40_000, warmUp: 40_000, count: 7 } };
const PROCESSES = 16;
const FLEET_ROUNDS = 7;
const FLEET_WARM_UP = 10_000;

export async function run(print) {
  const server = await startRedis();
  if (!pin(server.pid)) print('Redis is not pinned to one core, because taskset does not work here.');
  const admin = new Redis(server.port, '127.0.0.1');
  const { rows, add } = collect(print);
  const report = (name, figures) => {
    for (const [figure, [end, unit, lowerIsBetter]] of Object.entries(COSTS))
      add(row(`${name}${end}`, unit, figures, (run) => run[figure], lowerIsBetter));
  };
  const { operations, stock, close } = await openOperations(server.port, { contenders: ON_CLIENTS });
  let activities = 0;
  for (const [inFlight, { calls, warmUp: warm, count }] of Object.entries(SHAPES)) {
    for (const operation of OPERATIONS) {
      const next = Object.fromEntries(ON_CLIENTS.map((name) => [name, 0]));
      let activity;
      const prepare = (packets) => async (name) => {
        await admin.flushdb();
        activity = `activity-${inFlight}-${(activities += 1)}`;
        if (operation === 'grab') await stock[name](activity, packets);
      };
      const contenders = (amount) =>
        Object.fromEntries(
          Object.entries(operations[operation]).map(([name, call]) => [
            name,
            () => costOf(admin, amount, () => measure(() => call(next[name]++, activity), amount, Number(inFlight))),
          ]),
        );
      // Not measured, because the compiler optimises the code during the first calls.
      await rounds(1, contenders(warm), prepare(warm));
      report(`${operation}-${inFlight}`, await rounds(count, contenders(calls), prepare(calls)));
    }
  }
  await close();

  const fleets = {};
  for (const name of ON_CLIENTS) fleets[name] = await startFleet(PROCESSES, { port: server.port, contenders: [name] });
  for (const operation of ['limit', 'lock-pair']) {
    for (const [contender, fleet] of Object.entries(fleets))
      await warmUp(fleet, admin, { operation, contender, inFlight: 2 }, FLEET_WARM_UP);
    const contenders = Object.fromEntries(
      Object.entries(fleets).map(([contender, fleet]) => [
        contender,
        () => costInFleet(fleet, admin, { operation, contender, inFlight: 2 }),
      ]),
    );
    // Not measured: the contender that warmed up last is ahead.
    await rounds(1, contenders, async () => {});
    report(`${operation}-16x2`, await rounds(FLEET_ROUNDS, contenders, async () => {}));
  }
  for (const fleet of Object.values(fleets)) fleet.stop();
  admin.disconnect();
  server.stop();
  return rows;
}
