// npm run explore -- [protocol] [--depth N] [--seconds S] [--json], or: npm run explore -- replay FILE
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { explore, replayed, type CounterExample, type JobResult } from './job';
import { writeReport } from './report';
import { scenarios } from './scenarios';

const FOLDER = join(__dirname, '..', '..', 'data', 'explore');

/** Longest time of the search without `--seconds` and `--depth`, s. */
const USUAL_SECONDS = '900';

interface Bounds {
  readonly depth?: string | undefined;
  readonly seconds?: string | undefined;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(3),
    allowPositionals: true,
    options: { depth: { type: 'string' }, seconds: { type: 'string' }, json: { type: 'boolean' } },
  });
  const [name, argument] = positionals;
  if (name === 'job') return runJob(Number(argument), values);
  if (name === 'replay') return replayFile(argument);
  const chosen = scenarios.flatMap((one, index) => (name === undefined || one.name === name ? [index] : []));
  if (chosen.length === 0) {
    const names = [...new Set(scenarios.map((one) => one.name))].join(', ');
    throw new Error(`There is no protocol "${name}". Protocols: ${names}.`);
  }
  const started = performance.now();
  const bounds = {
    depth: values.depth,
    seconds: values.seconds ?? (values.depth === undefined ? USUAL_SECONDS : undefined),
  };
  const results = await runAll(chosen, bounds, (result) => values.json !== true && print(lineOf(result)));
  const seconds = (performance.now() - started) / 1000;
  const violations = results.flatMap((result) => result.violations);
  for (const [index, violation] of violations.entries()) printViolation(violation, index, values.json === true);
  const states = results.reduce((sum, result) => sum + result.states, 0);
  const depth = Math.min(...results.map((result) => result.depth));
  if (values.json === true)
    print(JSON.stringify({ states, depth, seconds, violations: violations.length, scenarios: results }));
  else print(`${states.toLocaleString('en')} states in ${seconds.toFixed(0)} s, ${violations.length} violations`);
  if (name === undefined && values.depth === undefined) await writeReport(results, seconds);
  if (violations.length > 0) process.exitCode = 1;
}

/** Explores one scenario in this process. */
async function runJob(index: number, { depth, seconds }: Bounds): Promise<void> {
  const protocol = scenarios[index];
  if (protocol === undefined) throw new Error(`There is no scenario ${index}.`);
  const bounds = { depth: depth === undefined ? protocol.depth : Number(depth), seconds: Number(seconds ?? Infinity) };
  print(JSON.stringify(await explore(protocol, bounds)));
}

/** Explores scenarios in processes of their own, as many at a time as there are cores. */
async function runAll(
  chosen: readonly number[],
  { depth, seconds }: Bounds,
  ended: (result: JobResult) => void,
): Promise<JobResult[]> {
  const cores = availableParallelism();
  const results = new Map<number, JobResult>();
  const waiting = [...chosen];
  const share = seconds === undefined ? [] : ['--seconds', String((Number(seconds) * cores) / chosen.length)];
  const bound = depth === undefined ? [] : ['--depth', depth];
  const work = async (): Promise<void> => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      const args = [...process.argv.slice(1, 3), 'job', String(index), ...share, ...bound];
      const child = spawn(process.execPath, ['--max-old-space-size=4096', ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      const [code] = (await once(child, 'close')) as [number];
      if (code !== 0) throw new Error(`The exploration of ${scenarios[index]?.scenario} ended with status ${code}.`);
      const result = JSON.parse(output) as JobResult;
      results.set(index, result);
      ended(result);
    }
  };
  await Promise.all(Array.from({ length: cores }, work));
  return chosen.map((index) => results.get(index) as JobResult);
}

async function replayFile(file: string | undefined): Promise<void> {
  if (file === undefined) throw new Error('Expected: npm run explore -- replay FILE');
  const example = JSON.parse(readFileSync(file, 'utf8')) as CounterExample;
  const protocol = scenarios.find((one) => one.name === example.protocol && one.scenario === example.scenario);
  if (protocol === undefined) throw new Error(`There is no scenario "${example.scenario}" of ${example.protocol}.`);
  print((await replayed(protocol, example)).join('\n'));
}

function printViolation(violation: CounterExample, index: number, quiet: boolean): void {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${violation.protocol}-${index + 1}.json`);
  writeFileSync(file, `${JSON.stringify(violation, null, 2)}\n`);
  if (quiet) return;
  print(`\n${violation.protocol}, ${violation.scenario}: ${violation.problem}`);
  violation.moves.forEach((move, at) => print(`${String(at + 1).padStart(3)}. ${move}`));
  print(`On a real Redis: ${violation.onRedis}\nnpm run explore -- replay ${file}`);
}

function lineOf({ protocol, scenario, states, depth, seconds, compared, violations }: JobResult): string {
  const found = violations.length === 0 ? '' : `, ${violations.length} VIOLATIONS`;
  return `${protocol}, ${scenario}: ${states.toLocaleString('en')} states up to ${depth} moves, ${compared.toLocaleString('en')} compared with Redis, ${seconds.toFixed(0)} s${found}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).stack}\n`);
  process.exitCode = 1;
});
