// node bench/compare.mjs --before DIR [--after DIR] [--pairs N] [--rounds N] [--minutes N] [--warm-up N] [--json] [case ...]
// Compares two built checkouts of luanest: both make the same calls in turn on one Redis, each in processes and a database of
// its own, with its own build and ioredis. See README.md. A case is named by the beginning of its name, such as lone or fleet-8x1.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { costOf, COSTS, figuresOf, rounds, row, startRedis } from './harness.mjs';
import { HERE } from './operations.mjs';
import { AGES, costByAge, costInFleet, pin, prepared, startFleet, warmUp } from './processes.mjs';

const LONE_CALLS = 1_000;
const CROWD_CALLS = 30_000;
const REGISTRY_CALLS = 100_000;
const FLEET = 16;

/** One process: the operation, how many calls it makes in a round, and how many at a time. */
const lone = (operation) => ({ one: { operation, calls: LONE_CALLS, inFlight: 1 } });
const crowd = (operation, inFlight = 512) => ({ one: { operation, calls: CROWD_CALLS, inFlight }, empty: true });
const registry = (operation, calls = REGISTRY_CALLS, inFlight = 512) => ({
  one: { operation, calls, inFlight, contender: 'registry' },
  empty: true,
});
const fleet = (operation, processes, inFlight) => ({ fleet: { operation, inFlight }, processes });
const FLEET_OPERATIONS = ['limit', 'lock-pair', 'grab'];

const CASES = {
  ...Object.fromEntries(
    ['limit', 'limit-3', 'first', 'once-run', 'lock-pair', 'grab', 'record', 'schedule', 'publish'].map((name) => [
      `lone-${name}`,
      lone(name),
    ]),
  ),
  ...Object.fromEntries(
    ['limit', 'record', 'grab', 'schedule', 'publish'].map((name) => [`crowd-${name}`, crowd(name)]),
  ),
  'crowd-lock-pair': crowd('lock-pair', 64),
  'registry-limiter-1': registry('limiter', 2_000, 1),
  'registry-limiter-512': registry('limiter'),
  'registry-limiter-512-varied': registry('limiter-varied'),
  'registry-window-512': registry('window'),
  'registry-grab-512': registry('script-grab'),
  ...Object.fromEntries(FLEET_OPERATIONS.map((name) => [`fleet-8x1-${name}`, fleet(name, 8, 1)])),
  ...Object.fromEntries(FLEET_OPERATIONS.map((name) => [`fleet-16x2-${name}`, fleet(name, FLEET, 2)])),
  'age-limit': { age: 'limit' },
  'age-lock-pair': { age: 'lock-pair' },
};

const fail = (message) => {
  console.error(message);
  process.exit(2);
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string' },
    after: { type: 'string', default: HERE },
    pairs: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '7' },
    minutes: { type: 'string', default: '20' },
    // Calls of a process that are not measured, because the compiler optimises the code during the first thousands.
    'warm-up': { type: 'string', default: '10000' },
    json: { type: 'boolean' },
  },
});
if (values.before === undefined) fail('--before DIR is missing: a built checkout to compare this one with.');
const [pairs, roundsOfPair, minutes, warmUpCalls] = ['pairs', 'rounds', 'minutes', 'warm-up'].map((name) => {
  if (!(Number(values[name]) > 0)) fail(`--${name} is a number above 0.`);
  return Number(values[name]);
});
const trees = { luanest: resolve(values.after), before: resolve(values.before) };
for (const tree of Object.values(trees)) {
  if (!existsSync(join(tree, 'dist/libs'))) fail(`${tree} is not built. Run there: npm run build`);
}
const matches = (name, wanted) => name === wanted || (!(wanted in CASES) && name.startsWith(`${wanted}-`));
const unknown = positionals.filter((wanted) => !Object.keys(CASES).some((name) => matches(name, wanted)));
if (unknown.length > 0) fail(`There is no case ${unknown.join(', ')}. Known: ${Object.keys(CASES).join(', ')}.`);
const chosen = Object.entries(CASES).filter(
  ([name]) => positionals.length === 0 || positionals.some((wanted) => matches(name, wanted)),
);

const server = await startRedis();
const { Redis } = createRequire(import.meta.url)('ioredis');
const sides = Object.fromEntries(
  Object.entries(trees).map(([side, tree], db) => [
    side,
    { tree, db, admin: new Redis(server.port, '127.0.0.1', { db }) },
  ]),
);

/** Lets both trees do the same in turn. `each` gets a tree's name, options of its processes, and a client of its database. */
const inTurn = (count, each) =>
  rounds(
    count,
    Object.fromEntries(Object.entries(sides).map(([side, { admin }]) => [side, () => each(side, admin)])),
    async () => {},
  );

/** Starts processes of both trees. */
async function startFleets(count, contender) {
  const fleets = {};
  for (const [side, { tree, db }] of Object.entries(sides)) {
    fleets[side] = await startFleet(count, { port: server.port, tree, db, contenders: [contender] });
  }
  return fleets;
}

const stopFleets = (fleets) => Object.values(fleets).forEach((fleet) => fleet.stop());

/** Several pairs of processes, because the compiler may treat the code of one process better than that of the next. */
async function compareOne({ one, empty }) {
  const work = { contender: 'luanest', ...one };
  const runs = { luanest: [], before: [] };
  for (let pair = 0; pair < pairs; pair++) {
    const fleets = await startFleets(1, work.contender);
    for (const { admin } of Object.values(sides)) await admin.flushdb();
    const make = async (side, admin, calls) => {
      if (empty) await admin.flushdb();
      const message = { ...(await prepared(fleets[side], admin, work, calls)), calls };
      return costOf(admin, calls, async () => (await fleets[side].all(message))[0]);
    };
    await inTurn(2, (side, admin) => make(side, admin, Math.max(warmUpCalls, work.calls)));
    const figures = await inTurn(roundsOfPair, (side, admin) => make(side, admin, work.calls));
    for (const [side, figure] of Object.entries(figures)) runs[side].push(...figure.runs);
    stopFleets(fleets);
  }
  return { luanest: figuresOf(runs.luanest), before: figuresOf(runs.before) };
}

/** The fleets of all cases, and the operations for which they are warm. */
let large;
const warm = new Set();

async function compareFleets({ fleet: { operation, inFlight }, processes }) {
  large ??= await startFleets(FLEET, 'luanest');
  const work = { operation, inFlight, contender: 'luanest' };
  if (!warm.has(operation)) {
    for (const [side, { admin }] of Object.entries(sides)) await warmUp(large[side], admin, work, warmUpCalls);
    warm.add(operation);
  }
  const measured = (side, admin) => costInFleet(large[side].part(processes), admin, work);
  await inTurn(1, measured);
  return inTurn(roundsOfPair, measured);
}

const compareAges = ({ age }) =>
  inTurn(roundsOfPair, (side, admin) => {
    const options = { port: server.port, tree: sides[side].tree, db: sides[side].db, contenders: ['luanest'] };
    return costByAge(options, admin, { operation: age, contender: 'luanest' });
  });

/** The rows of a case; in a row, luanest is the tree after. */
async function rowsOf(name, it) {
  if (it.age) {
    const figures = await compareAges(it);
    return AGES.map(([age, unit, pick]) => row(`${name}-${age}`, unit, figures, pick, true));
  }
  const figures = await (it.fleet ? compareFleets(it) : compareOne(it));
  return Object.entries(COSTS).map(([figure, [end, unit, lowerIsBetter]]) =>
    row(`${name}${end}`, unit, figures, (run) => run[figure], lowerIsBetter),
  );
}

if (chosen.some(([, it]) => it.fleet) && !pin(server.pid)) console.log('Redis is not pinned, because taskset fails.');
console.log(
  `before: ${trees.before}\nafter: ${trees.luanest}\nA ratio above 1: after is better. In brackets: of a round.`,
);
const rows = [];
const endMs = performance.now() + minutes * 60_000;
let failed = 0;
for (const [name, it] of chosen) {
  if (performance.now() > endMs) {
    console.log(`${name}: not measured, because ${minutes} minutes are over`);
    continue;
  }
  try {
    for (const added of await rowsOf(name, it)) {
      rows.push(added);
      const [least, most] = added.ratioRange?.before ?? [added.ratio.before, added.ratio.before];
      const ratio = `${added.ratio.before.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
      console.log(
        `${added.case.padEnd(42)} ${ratio.padEnd(22)} ${added.peers.before} -> ${added.luanest} ${added.unit}`,
      );
    }
  } catch (error) {
    failed += 1;
    console.log(`${name}: not measured: ${error.message}`);
  }
}
if (values.json) console.log(JSON.stringify({ before: trees.before, after: trees.luanest, rows }));
process.exit(failed === 0 ? 0 : 1);
