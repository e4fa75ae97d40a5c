// How long a call takes when calls arrive at random times, as requests do: registry.run compared with plain EVALSHA of the same
// script. Both replay the same arrivals over a link with the same round trip.
import { createRequire } from 'node:module';
import { CLIENTS, collect, measure, rounds, row, startDelayProxy, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const {
  ScriptRegistryModule,
  ScriptRegistry,
  defineScript,
  int,
} = require('../dist/libs/script-registry/src/index.js');

const ROUNDS = 5;
const KEYS = 1_000;
const ROUND_TRIPS_MS = [0.3, 1, 20];
/** Calls per ms, and how many of them a round makes. */
const RATES = new Map([
  [0.5, 600],
  [2, 1_400],
  [10, 4_000],
]);
const WINDOW_MS = 3_600_000;
/** Longer than any stall of the machine, because the peer has no deadline. */
const DEADLINE_MS = 10_000;
/** Time before an arrival at which the loop stops using timers and spins, ms, because timers are 1 to 2 ms late. */
const SPIN_MS = 2;

const limiter = defineScript({
  name: 'bench.latency',
  keys: ['counter'],
  args: { limit: int, windowMs: int },
  source: `
local used = redis.call('INCR', KEYS[1])
local window_ms = tonumber(ARGV[2])
if used == 1 then redis.call('PEXPIRE', KEYS[1], window_ms) end
return { used <= tonumber(ARGV[1]) and 1 or 0, used }`,
  reply: ([allowed, used]) => ({ allowed: allowed === 1, used }),
});

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Times of Poisson arrivals, ms from the start: the gaps are independent, and 1 / rate on average. */
function arrivalsOf(rate, calls, seed) {
  const next = random(seed);
  let at = 0;
  return Array.from({ length: calls }, () => (at += -Math.log(1 - next()) / rate));
}

/** Makes each call when it arrives, whether or not earlier ones have ended. Returns their times from arrival to end, ms. */
function replay(call, arrivals) {
  const times = new Float64Array(arrivals.length);
  const startMs = performance.now() + SPIN_MS;
  let [next, ended] = [0, 0];
  return new Promise((resolve, reject) => {
    const one = async (i) => {
      await call(i);
      times[i] = performance.now() - startMs - arrivals[i];
      if (++ended === arrivals.length) resolve(times);
    };
    const step = () => {
      const nowMs = performance.now() - startMs;
      while (next < arrivals.length && arrivals[next] <= nowMs) one(next++).catch(reject);
      if (next === arrivals.length) return;
      const waitMs = arrivals[next] - nowMs - SPIN_MS;
      if (waitMs < 1) setImmediate(step);
      else setTimeout(step, Math.floor(waitMs));
    };
    step();
  });
}

async function open(Redis, port) {
  const [own, plain] = [new Redis(port, '127.0.0.1'), new Redis(port, '127.0.0.1')];
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client: own, preload: 'required', deadlineMs: DEADLINE_MS }),
      ScriptRegistryModule.forFeature([limiter]),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const registry = app.get(ScriptRegistry);
  const sha = await plain.script('LOAD', `#!lua\n${limiter.source}`);
  const args = { limit: 1_000_000, windowMs: WINDOW_MS };
  return {
    callers: {
      luanest: (i) => registry.run(limiter, { keys: { counter: `counter:${i % KEYS}` }, args }),
      evalsha: async (i) =>
        limiter.reply(await plain.evalsha(sha, 1, `counter:${i % KEYS}`, args.limit, args.windowMs)),
    },
    close: async () => {
      await app.close();
      for (const client of [own, plain]) client.disconnect();
    },
  };
}

/** The time that a share of the calls did not exceed, ms. */
const percentile = (times, share) => times.sort()[Math.ceil(times.length * share) - 1];

export async function run(print) {
  const server = await startRedis();
  const { rows, add } = collect(print);
  for (const roundTripMs of ROUND_TRIPS_MS) {
    const proxy = await startDelayProxy(server.port, roundTripMs / 2);
    for (const [suffix, client] of Object.entries(CLIENTS)) {
      const { callers, close } = await open(require(client).Redis, proxy.port);
      // Not measured, because the compiler optimises the code during the first calls.
      for (const call of Object.values(callers)) await measure(call, 3_000, 64);
      for (const [rate, calls] of RATES) {
        let turn = 0;
        const contenders = Object.fromEntries(
          Object.entries(callers).map(([who, call]) => [
            who,
            async () => {
              // Both contenders of a round have the arrivals of that round.
              const round = Math.floor(turn++ / Object.keys(callers).length);
              const times = await replay(call, arrivalsOf(rate, calls, 1 + round));
              return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
            },
          ]),
        );
        const figures = await rounds(ROUNDS, contenders, async () => {});
        for (const figure of ['p50', 'p99']) {
          add(row(`rtt-${roundTripMs}-rate-${rate}-${figure}${suffix}`, 'ms', figures, (run) => run[figure], true));
        }
      }
      await close();
    }
    proxy.stop();
  }
  server.stop();
  return rows;
}
