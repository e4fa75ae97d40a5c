// Many processes with few calls in flight each, as a real fleet has them, on one Redis that has one core.
import { createRequire } from 'node:module';
import { CLIENTS, collect, COSTS, rounds, row, startRedis } from './harness.mjs';
import { costInFleet, pin, startFleet, warmUp } from './processes.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');

const ROUNDS = 7;
/** Calls of each process that are not measured, because the compiler optimises the code during the first thousands. */
const WARM_UP = 10_000;
const PROCESSES = 16;
/** Ends of the cases' names, how many processes make calls, and how many each has in flight. */
const SHAPES = { '': [PROCESSES, 2], '-8x1': [8, 1] };
/** Operations, and what luanest is compared with. */
const COMPARED = { limit: 'rate-limiter-flexible', 'lock-pair': 'redlock', grab: 'plain' };

export async function run(print) {
  const server = await startRedis();
  if (!pin(server.pid)) print('Redis is not pinned to one core, because taskset does not work here.');
  const { rows, add } = collect(print);
  const admin = new Redis(server.port, '127.0.0.1');
  for (const [suffix, client] of Object.entries(CLIENTS)) {
    // No process runs both luanest and a peer, because code that both call, such as that of ioredis, would be compiled for both.
    const [ours, theirs] = [
      await startFleet(PROCESSES, { port: server.port, client, contenders: ['luanest'] }),
      await startFleet(PROCESSES, { port: server.port, client, contenders: Object.values(COMPARED) }),
    ];
    for (const [operation, peer] of Object.entries(COMPARED)) {
      const fleets = { luanest: ours, [peer]: theirs };
      for (const [contender, fleet] of Object.entries(fleets)) {
        await warmUp(fleet, admin, { operation, contender, inFlight: 2 }, WARM_UP);
      }
      for (const [shape, [processes, inFlight]] of Object.entries(SHAPES)) {
        const contenders = Object.fromEntries(
          Object.entries(fleets).map(([contender, fleet]) => [
            contender,
            () => costInFleet(fleet.part(processes), admin, { operation, contender, inFlight }),
          ]),
        );
        // Not measured: the contender that warmed up last is ahead.
        await rounds(1, contenders, async () => {});
        const figures = await rounds(ROUNDS, contenders, async () => {});
        for (const [figure, [end, unit, lowerIsBetter]] of Object.entries(COSTS)) {
          add(row(`${operation}${shape}${end}${suffix}`, unit, figures, (run) => run[figure], lowerIsBetter));
        }
      }
    }
    for (const fleet of [ours, theirs]) fleet.stop();
  }
  admin.disconnect();
  server.stop();
  return rows;
}
