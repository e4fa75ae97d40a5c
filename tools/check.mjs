// @ts-check
// npm run check: runs the scripts check:<step> of the list below, as many at the same time as there are cores. Prints the output of
// each step when the step ends. The exit status is 1 if a step failed.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The longest first. check:code does what check:types and check:lint do. */
const steps = ['code', 'format', 'floors', 'pages', 'api', 'words', 'lua', 'generated'];

// Compilers and linters then collect garbage less often, and optimise fewer functions.
const late = JSON.stringify(fileURLToPath(new URL('../test/support/optimise-late.cjs', import.meta.url)));
const NODE_OPTIONS = `--max-semi-space-size=64 --require ${late} ${process.env.NODE_OPTIONS ?? ''}`;
const env = { ...process.env, NODE_OPTIONS };

/** @type {string[]} */
const failed = [];

/** @param {string} step */
function run(step) {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn('npm', ['run', '--silent', `check:${step}`], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', (error) => (output += `${error.message}\n`));
    child.once('close', (code) => {
      if (code !== 0) failed.push(step);
      const took = ((performance.now() - started) / 1_000).toFixed(1);
      console.log(`== check:${step} ${code === 0 ? 'passed' : 'FAILED'} after ${took} s\n${output.trim()}`.trim());
      resolve(undefined);
    });
  });
}

async function work() {
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) await run(step);
}

await Promise.all(Array.from({ length: availableParallelism() }, work));
if (failed.length > 0) {
  console.error(`failed: ${failed.map((step) => `npm run check:${step}`).join(', ')}`);
  process.exitCode = 1;
}
