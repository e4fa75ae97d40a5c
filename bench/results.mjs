// Runs every bench in a process of its own, one after the other, and writes what they measured to RESULTS.md.
import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const versionOf = (packageName, folder) =>
  JSON.parse(readFileSync(here(`${folder}/node_modules/${packageName}/package.json`), 'utf8')).version;

/** Names of all benches. */
export const names = readdirSync(here('.'))
  .filter((entry) => entry.endsWith('.bench.mjs'))
  .map((entry) => entry.slice(0, -'.bench.mjs'.length))
  .sort();

/** Runs a bench and prints its lines. Returns its rows, or why it failed. */
async function runOne(name) {
  const child = spawn(process.execPath, [here('run.mjs'), name, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
    process.stdout.write(chunk);
  });
  const status = await new Promise((resolve) => child.once('close', resolve));
  const last = output.trimEnd().split('\n').at(-1) ?? '';
  if (status !== 0 || !last.startsWith('{')) return { name, failure: `it ended with status ${status}` };
  return { name, rows: JSON.parse(last).rows };
}

function machine() {
  const [cpu] = cpus();
  const redis = /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1];
  const gib = Math.round(totalmem() / 2 ** 30);
  return [
    `- ${cpus().length} cores, ${cpu?.model.trim()}, ${gib} GiB of memory, ${type()} ${release()}`,
    `- Redis ${redis}, Node ${process.versions.node}, ioredis ${versionOf('ioredis', '..')} and ${versionOf('ioredis5', '..')}, NestJS ${versionOf('@nestjs/core', '..')}`,
  ];
}

function peers() {
  const { dependencies } = JSON.parse(readFileSync(here('package.json'), 'utf8'));
  return Object.keys(dependencies).map((name) => `\`${name}\` ${versionOf(name, '.')}`);
}

/** A median, and the smallest and largest value of all rounds if there were several. */
const spread = (middle, range) => (range ? `${middle} (${range[0]} to ${range[1]})` : String(middle));

function tableOf({ name, rows, failure }) {
  if (failure) return [`## ${name}`, '', `Not measured: ${failure}.`, ''];
  const lines = [`## ${name}`, '', '| case | luanest | other | ratio |', '| --- | --- | --- | --- |'];
  for (const { case: label, unit, luanest, peers, ratio, range, ratioRange } of rows) {
    const others = Object.entries(peers).map(([key, value]) => `${key} ${spread(value, range?.[key])}`);
    const fixed = (key) => ratioRange?.[key].map((value) => value.toFixed(2));
    const ratios = Object.entries(ratio).map(([key, value]) => `${spread(value.toFixed(2), fixed(key))} × ${key}`);
    const own = spread(`${luanest} ${unit}`, range?.luanest);
    lines.push(`| \`${label}\` | ${own} | ${others.join(', ') || '–'} | ${ratios.join(', ') || '–'} |`);
  }
  return [...lines, ''];
}

/** @param {string[]} wanted names of benches */
export async function writeResults(wanted) {
  const results = wanted.map((name) => ({ name, failure: 'the run ended before it' }));
  for (const [i, name] of wanted.entries()) {
    console.log(`\n# ${name}`);
    results[i] = await runOne(name);
    // Written after each bench, so that a run that is stopped leaves the results so far.
    await write(results);
  }
  const failed = results.filter(({ failure }) => failure);
  console.log(`\n${results.length - failed.length} of ${results.length} benches written to bench/RESULTS.md`);
  return failed.length === 0 ? 0 : 1;
}

async function write(results) {
  const text = [
    '# Results',
    '',
    `Made by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}. What each case is, and how it is measured, is in`,
    '[README.md](README.md): medians over rounds in which the contenders take turns, and in brackets the smallest and largest',
    'value of a round; a ratio is the median of the ratios of the rounds. A ratio above 1 favours luanest; for times it is',
    'inverted. Results of one machine, to be compared within a row.',
    '',
    ...machine(),
    `- Peers: ${peers().join(', ')}`,
    '',
    ...results.flatMap(tableOf),
  ];
  writeFileSync(here('RESULTS.md'), await format(text.join('\n'), { parser: 'markdown', printWidth: 120 }));
}
