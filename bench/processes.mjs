// Processes that make the calls of operations.mjs: many at a time, or one that has just started.
import { execFileSync, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { redisUsage } from './harness.mjs';

const WINDOW_MS = 800;
/** Time until all processes know the window, ms. */
const LEAD_MS = 100;
/** Time in which a new process ends what it began while it started, ms. */
const SETTLE_MS = 300;
/** Maximum number of calls that a process of a fleet makes in a round, for what users grab from. */
const CALLS_OF_ROUND = 12_000;

/** Gives a process the first core. Returns false if the machine cannot. */
export function pin(pid) {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', '0', String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function nextAnswer(child) {
  return new Promise((resolve, reject) => {
    const ended = (code) => reject(new Error(`A process ended with ${code}.`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

function fleetOf(children) {
  return {
    size: children.length,
    /** Sends a message to each process, and returns the next answer of each. */
    all: (message) => {
      const answers = Promise.all(children.map(nextAnswer));
      for (const child of children) child.send(message);
      return answers;
    },
    /** The first processes of the fleet. */
    part: (count) => fleetOf(children.slice(0, count)),
  };
}

/** Starts processes that open what `options` names, see openOperations. */
export async function startFleet(count, options) {
  const script = fileURLToPath(new URL('./operations.process.mjs', import.meta.url));
  const children = Array.from({ length: count }, (_, i) =>
    fork(script, [JSON.stringify({ ...options, prefix: `p${i}` })]),
  );
  const stop = () => {
    process.off('exit', stop);
    for (const child of children) child.removeAllListeners('exit').kill();
  };
  process.once('exit', stop);
  await Promise.all(children.map(nextAnswer));
  return { ...fleetOf(children), stop };
}

let activities = 0;

/** Fills what the processes grab from if that is what they do. Returns the message that names their calls. */
export async function prepared(fleet, admin, work, packets) {
  if (!work.operation.endsWith('grab')) return work;
  const { contender } = work;
  const activity = `activity-${(activities += 1)}`;
  await admin.flushdb();
  await fleet.part(1).all({ contender, activity, packets });
  return { ...work, activity };
}

/** Lets each process of a fleet make `calls` calls, which are not measured. */
export async function warmUp(fleet, admin, work, calls) {
  await fleet.all({ ...(await prepared(fleet, admin, work, fleet.size * calls)), calls });
}

/** Lets a fleet make calls. Returns, for the calls that end in a window of time, the numbers of COSTS. */
export async function costInFleet(fleet, admin, work) {
  await fleet.all(await prepared(fleet, admin, work, fleet.size * CALLS_OF_ROUND));
  const fromMs = Date.now() + LEAD_MS;
  const counted = fleet.all({ fromMs, toMs: fromMs + WINDOW_MS });
  await sleep(LEAD_MS);
  const [before, startedMs] = [await redisUsage(admin), performance.now()];
  await sleep(WINDOW_MS);
  const [after, endedMs] = [await redisUsage(admin), performance.now()];
  const sum = (answers, key) => answers.reduce((total, answer) => total + answer[key], 0);
  const answers = await counted;
  const calls = sum(answers, 'count');
  const callsOfRedis = (calls * (endedMs - startedMs)) / WINDOW_MS;
  return {
    perSecond: (1_000 * calls) / WINDOW_MS,
    nodeMicros: sum(answers, 'cpuMicros') / calls,
    redisMicros: (after.cpuMicros - before.cpuMicros) / callsOfRedis,
    scriptMicros: (after.scriptMicros - before.scriptMicros) / callsOfRedis,
  };
}

/** Stages in the life of a process: the numbers of their last calls. */
const STAGES = [20, 100, 300, 1_000, 3_000, 8_000];

/** The stages in the life of a new process, and its first calls together: the name, the unit, and the number of a run. */
export const AGES = [
  ...STAGES.map((last, i) => [`${(STAGES[i - 1] ?? 0) + 1}-${last}`, 'µs Node CPU/call', ({ micros }) => micros[i]]),
  ...[1_000, 8_000].map((last) => [
    `first-${last}`,
    'ms Node CPU',
    ({ micros }) =>
      STAGES.reduce((ms, end, i) => ms + (end > last ? 0 : ((end - (STAGES[i - 1] ?? 0)) * micros[i]) / 1_000), 0),
  ]),
];

/** Starts a process, which makes calls one after another. Returns its Node CPU a call by stage. */
export async function costByAge(options, admin, work) {
  const fleet = await startFleet(1, options);
  const calls = await prepared(fleet, admin, work, STAGES.at(-1));
  await sleep(SETTLE_MS);
  const [run] = await fleet.all({ ...calls, stages: STAGES.map((last, i) => last - (STAGES[i - 1] ?? 0)) });
  fleet.stop();
  return run;
}
