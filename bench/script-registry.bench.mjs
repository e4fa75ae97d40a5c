// registry.run, with its checks and deadlines, compared with plain EVALSHA on a client of the same kind: same script, same
// calls, same order of keys. The second peer is a client with autopipelining, the nearest that ioredis itself offers.
import { createRequire } from 'node:module';
import { measure, rounds, row, startDelayProxy, startRedis } from './harness.mjs';
import { HERE, treeOf } from './operations.mjs';
import { definedBy, fillPool, openEvalsha, openRegistry } from './scripts.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');

const ROUNDS = 7;
const tree = treeOf(HERE);
const scripts = definedBy(tree.lib('script-registry'));
const { limiter, window } = scripts;

/** The three contenders on one server. */
async function open(port) {
  const [admin, client, plain, auto] = [{}, {}, {}, { enableAutoPipelining: true }].map(
    (options) => new Redis(port, '127.0.0.1', options),
  );
  const { close, ...luanest } = await openRegistry(client, tree, scripts);
  return {
    admin,
    callers: {
      luanest,
      evalsha: await openEvalsha(plain, scripts),
      autopipelining: await openEvalsha(auto, scripts),
    },
    close: async () => {
      await close();
      for (const redis of [admin, client, plain, auto]) redis.disconnect();
    },
  };
}

export async function run(print) {
  const server = await startRedis();
  const here = await open(server.port);
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit} (${ratios.join(', ')})`);
  };
  const compete = async ({ callers, admin }, calls, inFlight, call, prepare = async () => {}, count = ROUNDS) => {
    const contenders = Object.fromEntries(
      Object.entries(callers).map(([name, caller]) => [name, () => measure((i) => call(caller, i), calls, inFlight)]),
    );
    return rounds(count, contenders, async () => {
      await admin.flushall();
      await prepare(admin);
    });
  };
  const both = (name, figures) => {
    add(row(name, 'calls/s', figures, (figure) => figure.perSecond, false));
    add(row(`${name}-cpu`, 'µs Node CPU/call', figures, (figure) => figure.cpuMicros, true));
  };
  const constant = (caller, i) => caller.count(limiter, i, 20);

  // Not measured, because the compiler optimises the code during the first calls.
  await compete(here, 100_000, 512, constant, undefined, 1);
  await compete(
    here,
    50_000,
    512,
    (caller, i) => caller.grab(i),
    (admin) => fillPool(admin, 50_000),
    1,
  );

  // 400,000 calls on 10,000 counters with limit 20: half are allowed and half refused, on every side alike.
  both('limiter-512', await compete(here, 400_000, 512, constant));
  // Arguments that differ from call to call, so that a group cannot send them once for all.
  both('limiter-512-varied', await compete(here, 400_000, 512, (caller, i) => caller.count(limiter, i, 20 + (i % 7))));
  both('window-512', await compete(here, 400_000, 512, (caller, i) => caller.count(window, i, 20)));
  both(
    'grab-512',
    await compete(
      here,
      200_000,
      512,
      (caller, i) => caller.grab(i),
      (admin) => fillPool(admin, 200_000),
    ),
  );
  add(
    row(
      'limiter-1',
      'calls/s',
      await compete(here, 10_000, 1, constant, undefined, 3 * ROUNDS),
      (figure) => figure.perSecond,
      false,
    ),
  );
  await here.close();

  const proxy = await startDelayProxy(server.port, 1);
  const far = await open(proxy.port);
  await compete(far, 100_000, 2_000, constant, undefined, 1);
  const delayed = await compete(far, 300_000, 2_000, constant);
  add(row('limiter-2000-delay', 'calls/s', delayed, (figure) => figure.perSecond, false));
  await far.close();
  proxy.stop();
  server.stop();
  return rows;
}
