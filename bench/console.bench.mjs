// What the console costs an idle app: without it, mounted while nobody looks, and with viewers. Commands that Redis runs, and the CPU of
// both processes.
import { fork } from 'node:child_process';
import { get } from 'node:http';
import { fileURLToPath } from 'node:url';
import { CLIENTS, collect, row } from './harness.mjs';

/** Number of viewers; undefined: the app has no console. */
const SCENES = { 'no-console': undefined, 'viewers-0': 0, 'viewers-1': 1, 'viewers-10': 10 };
const FIGURES = {
  '': ['commands/s', 'commandsPerSecond'],
  '-node-cpu': ['% of a core', 'nodePercent'],
  '-redis-cpu': ['% of a core', 'redisPercent'],
};

/** Resolves when the process sends a message with this field. */
function messageOf(child, field) {
  return new Promise((resolve, reject) => {
    child.on('message', (message) => field in message && resolve(message[field]));
    child.once('exit', (code) => reject(new Error(`The app ended with ${code}.`)));
  });
}

/** Opens the stream of events of a page, and reads it until the app ends. Resolves at the first overview. */
function look(port) {
  return new Promise((resolve, reject) => {
    const request = get(`http://127.0.0.1:${port}/console/api/live`, (response) => {
      response.on('data', (chunk) => String(chunk).includes('event: overview') && resolve());
      response.on('error', () => {});
    });
    request.on('error', reject);
  });
}

/** Runs an app in a process of its own while viewers look. Returns what it reports of each slice of its time. */
async function reportOf(viewers, client) {
  const script = fileURLToPath(new URL('./console.process.mjs', import.meta.url));
  const child = fork(script, ['--console', String(viewers !== undefined), '--client', client]);
  const port = await messageOf(child, 'port');
  await Promise.all(Array.from({ length: viewers ?? 0 }, () => look(port)));
  const report = messageOf(child, 'report');
  child.send('measure');
  return report;
}

export async function run(print) {
  const { rows, add } = collect(print);
  for (const [scene, viewers] of Object.entries(SCENES)) {
    const suffixes = Object.keys(CLIENTS);
    // Both clients at the same time, each with a Redis of its own: an idle app leaves the machine to the other one.
    const runs = await Promise.all(suffixes.map((suffix) => reportOf(viewers, CLIENTS[suffix])));
    for (const [i, suffix] of suffixes.entries()) {
      for (const [figure, [unit, key]] of Object.entries(FIGURES)) {
        add(row(`${scene}${figure}${suffix}`, unit, { luanest: { runs: runs[i] } }, (slice) => slice[key], true));
      }
    }
  }
  return rows;
}
