// What an app costs while nobody does anything: commands that Redis runs, and the CPU of both processes.
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

/** Runs a scene in a process of its own. Returns what it reports of each slice of its time. */
function slicesOf(scene, count, client) {
  const script = fileURLToPath(new URL('./idle.process.mjs', import.meta.url));
  const child = fork(script, ['--scene', scene, '--count', String(count), '--client', client]);
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
    const runs = await Promise.all(suffixes.map((suffix) => slicesOf(scene, count, CLIENTS[suffix])));
    for (const [i, suffix] of suffixes.entries()) {
      for (const [figure, [unit, key]] of Object.entries(FIGURES)) {
        add(
          row(`${scene}-${count}${figure}${suffix}`, unit, { luanest: { runs: runs[i] } }, (slice) => slice[key], true),
        );
      }
    }
  }
  return rows;
}
