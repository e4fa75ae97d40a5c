// What calls cost a process that has just started, as most processes of a small app or after a deployment have: the compiler
// optimises code only after thousands of calls.
import { createRequire } from 'node:module';
import { collect, rounds, row, startRedis } from './harness.mjs';
import { AGES, costByAge } from './processes.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');

const PROCESSES = 7;
const COMPARED = {
  limit: ['rate-limiter-flexible', 'plain', 'rate-limiter-flexible on node-redis', 'plain on node-redis'],
  'lock-pair': ['redlock', 'plain', 'plain on node-redis'],
  grab: ['plain', 'plain on node-redis'],
};

export async function run(print) {
  const server = await startRedis();
  const { rows, add } = collect(print);
  const admin = new Redis(server.port, '127.0.0.1');
  for (const [operation, peers] of Object.entries(COMPARED)) {
    const contenders = Object.fromEntries(
      ['luanest', ...peers].map((contender) => [
        contender,
        () => costByAge({ port: server.port, contenders: [contender] }, admin, { operation, contender }),
      ]),
    );
    const figures = await rounds(PROCESSES, contenders, async () => {});
    for (const [age, unit, pick] of AGES) add(row(`${operation}-${age}`, unit, figures, pick, true));
  }
  admin.disconnect();
  server.stop();
  return rows;
}
