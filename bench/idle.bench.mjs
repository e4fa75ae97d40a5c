// What an app costs while nobody does anything: commands that Redis runs, and the CPU of both processes. And how fast idle consumers and
// workers wake up.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CLIENTS, collect, row } from './harness.mjs';

const SCENES = [
  ['activities', 0],
  ['activities', 1_000],
  ['activities', 10_000],
  ['streams', 1_000],
  ['partitions', 1_000],
  ['jobs', 100],
];
const FIGURES = {
  '': ['commands/s', 'commandsPerSecond'],
  '-node-cpu': ['% of a core', 'nodePercent'],
  '-redis-cpu': ['% of a core', 'redisPercent'],
};

/** Calls that wake an idle consumer or worker, and the scene with them. */
const WAKE_UPS = { publish: 'streams', schedule: 'partitions' };
const WAKE_UP_COUNTS = [1, 1_000];

/** Runs a scene in a process of its own. Returns what it reports: of each slice of its time, or of each of `wakeUps`. */
function reportOf(scene, count, client, wakeUps = 0) {
  const script = fileURLToPath(new URL('./idle.process.mjs', import.meta.url));
  const args = { scene, count, client, 'wake-ups': wakeUps };
  const child = fork(
    script,
    Object.entries(args).flatMap(([name, value]) => [`--${name}`, String(value)]),
  );
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`The process of ${scene}-${count} ended with ${code}.`)));
  });
}

export async function run(print) {
  const { rows, add } = collect(print);
  for (const [scene, count] of SCENES) {
    const suffixes = Object.keys(CLIENTS);
    // Both clients at the same time, each with a Redis of its own: an idle app leaves the machine to the other one.
    const runs = await Promise.all(suffixes.map((suffix) => reportOf(scene, count, CLIENTS[suffix])));
    for (const [i, suffix] of suffixes.entries()) {
      for (const [figure, [unit, key]] of Object.entries(FIGURES)) {
        add(
          row(`${scene}-${count}${figure}${suffix}`, unit, { luanest: { runs: runs[i] } }, (slice) => slice[key], true),
        );
      }
    }
  }
  for (const count of WAKE_UP_COUNTS) {
    for (const [call, scene] of Object.entries(WAKE_UPS)) {
      // One after the other: what is measured is a time.
      for (const [suffix, client] of Object.entries(CLIENTS)) {
        const runs = await reportOf(scene, count, client, 500);
        add(row(`wake-up-${count}-${call}${suffix}`, 'ms', { luanest: { runs } }, (ms) => ms, true));
      }
    }
  }
  return rows;
}
