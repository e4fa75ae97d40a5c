// ReadRewardService.record compared with the script that many start with (SCARD, then SADD, no day, no expiry, no refund), sent
// as one EVALSHA a call on a client of the same kind: same users, same items, same limit.
import { createRequire } from 'node:module';
import { measure, rounds, row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { ReadRewardModule, ReadRewardService } = require('../dist/libs/read-reward/src/index.js');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');

const ROUNDS = 7;
const LIMIT = 5;

/** Returns 1 when the set is full, 0 for a member that is there, 2 for a new one. */
const SEED = `
local size = tonumber(redis.call('scard', KEYS[1]))
local limit = tonumber(ARGV[2] or '5')
if size >= limit then return 1 end
if tonumber(redis.call('sadd', KEYS[1], ARGV[1])) == 0 then return 0 end
return 2`;

async function open(port) {
  const [admin, client, plain] = [1, 2, 3].map(() => new Redis(port, '127.0.0.1'));
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      ReadRewardModule.forRoot({ rules: { read: { limit: LIMIT, timeZone: 'Asia/Shanghai' } } }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const rewards = app.get(ReadRewardService);
  const sha = await admin.script('LOAD', SEED);
  return {
    admin,
    callers: {
      luanest: (userId, itemId) => rewards.record({ rule: 'read', userId, itemId }),
      seed: (userId, itemId) => plain.evalsha(sha, 1, `read:${userId}`, itemId, LIMIT),
    },
    close: async () => {
      await app.close();
      for (const redis of [admin, client, plain]) redis.disconnect();
    },
  };
}

export async function run(print) {
  const server = await startRedis();
  const { admin, callers, close } = await open(server.port);
  const rows = [];
  const add = (added) => {
    rows.push(added);
    print(`${added.case}: ${added.luanest} ${added.unit} (${added.ratio.seed.toFixed(2)} x seed)`);
  };
  // New users each time, as a new day would have: the service remembers who was full, and a flush does not change that.
  let day = 0;
  // Each user reads 20 times, of 10 articles: 5 are rewarded, the others are duplicates or too many.
  const compete = (calls, inFlight, count) => {
    const users = calls / 20;
    return rounds(
      count,
      Object.fromEntries(
        Object.entries(callers).map(([name, call]) => [
          name,
          () =>
            measure((i) => call(`user-${day}-${i % users}`, `article-${Math.floor(i / users) % 10}`), calls, inFlight),
        ]),
      ),
      () => {
        day += 1;
        return admin.flushall();
      },
    );
  };
  // Not measured, because the compiler optimises the code during the first calls.
  await compete(100_000, 512, 1);
  const many = await compete(200_000, 512, ROUNDS);
  add(row('record-512', 'calls/s', many, (figure) => figure.perSecond, false));
  add(row('record-512-cpu', 'µs Node CPU/call', many, (figure) => figure.cpuMicros, true));
  const one = await compete(10_000, 1, 3 * ROUNDS);
  add(row('record-1', 'calls/s', one, (figure) => figure.perSecond, false));
  await close();
  server.stop();
  return rows;
}
