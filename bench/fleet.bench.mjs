// Many processes with few calls in flight each, as a real fleet has them, on one Redis that has one core.
import { execFileSync, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CLIENTS, collect, redisUsage, rounds, row, startRedis } from './harness.mjs';
import { openOperations } from './operations.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');

const ROUNDS = 7;
/** Rounds that are not measured: a process makes about 2,000 calls in each, and the compiler optimises the code during the first ones. */
const WARM_UP_ROUNDS = 8;
const PROCESSES = 16;
const WINDOW_MS = 800;
/** Time until all processes know the window, ms. */
const LEAD_MS = 100;
const PACKETS = 120_000;
/** Operations, and what luanest is compared with. */
const COMPARED = { limit: 'rate-limiter-flexible', 'lock-pair': 'redlock', grab: 'plain' };

/** Gives Redis' process one core. Returns false if the machine cannot. */
function pin(pid) {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', '0', String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Starts the processes. `all` sends a message to each, and returns the next answer of each. */
async function startFleet(port) {
  const script = fileURLToPath(new URL('./fleet.process.mjs', import.meta.url));
  const children = Array.from({ length: PROCESSES }, (_, i) => fork(script, [String(port), `p${i}`]));
  const answers = () =>
    Promise.all(
      children.map(
        (child) =>
          new Promise((resolve, reject) => {
            const ended = (code) => reject(new Error(`A process of the fleet ended with ${code}.`));
            child.once('exit', ended);
            child.once('message', (message) => {
              child.off('exit', ended);
              resolve(message);
            });
          }),
      ),
    );
  const stop = () => children.forEach((child) => child.kill());
  process.once('exit', stop);
  await answers();
  const all = (message) => {
    const answered = answers();
    for (const child of children) child.send(message);
    return answered;
  };
  return { all, stop };
}

/** Lets the fleet make a call. Returns the calls per second of the window, and Redis' CPU a call. */
async function callsOf(fleet, admin, work) {
  await fleet.all(work);
  const fromMs = Date.now() + LEAD_MS;
  const counted = fleet.all({ fromMs, toMs: fromMs + WINDOW_MS });
  await sleep(LEAD_MS);
  const [before, startedMs] = [await redisUsage(admin), performance.now()];
  await sleep(WINDOW_MS);
  const [after, endedMs] = [await redisUsage(admin), performance.now()];
  const calls = (await counted).reduce((sum, { count }) => sum + count, 0);
  const perSecond = (1_000 * calls) / WINDOW_MS;
  const redisPerSecond = (1_000 * (after.cpuMicros - before.cpuMicros)) / (endedMs - startedMs);
  return { perSecond, redisMicros: redisPerSecond / perSecond };
}

export async function run(print) {
  const server = await startRedis();
  if (!pin(server.pid)) print('Redis is not pinned to one core, because taskset does not work here.');
  const { rows, add } = collect(print);
  const admin = new Redis(server.port, '127.0.0.1');
  const { stock, close } = await openOperations(Redis, server.port);
  const fleet = await startFleet(server.port);
  let turn = 0;
  for (const suffix of Object.keys(CLIENTS)) {
    for (const [operation, peer] of Object.entries(COMPARED)) {
      const contenders = Object.fromEntries(
        ['luanest', peer].map((contender) => [
          contender,
          () => callsOf(fleet, admin, { suffix, operation, contender, activity: `fleet-${turn}` }),
        ]),
      );
      const prepare = async (contender) => {
        turn += 1;
        if (operation !== 'grab') return;
        await admin.flushall();
        await stock[contender](`fleet-${turn}`, PACKETS);
      };
      await rounds(WARM_UP_ROUNDS, contenders, prepare);
      const figures = await rounds(ROUNDS, contenders, prepare);
      add(row(`${operation}${suffix}`, 'calls/s', figures, (run) => run.perSecond, false));
      add(row(`${operation}-redis-cpu${suffix}`, 'µs Redis CPU/call', figures, (run) => run.redisMicros, true));
    }
  }
  fleet.stop();
  await close();
  admin.disconnect();
  server.stop();
  return rows;
}
