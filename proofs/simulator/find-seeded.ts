// npm run simulate:seeded -- [--seconds S] [ID...]: how many of the seeded defects the simulator finds, each in S seconds of CPU of two processes
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type SeededDefect, seededDefects } from './seeded';

const { values, positionals } = parseArgs({
  args: process.argv.slice(3),
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '60' } },
});
const folder = mkdtempSync(join(tmpdir(), 'luanest-seeded-'));

/** The last line of `npm run simulate -- --json`. */
interface Counts {
  readonly runs: number;
  readonly violations: number;
  readonly undecided: number;
  readonly cpuSeconds: number;
}

const ENTRY = join(__dirname, '..', '..', 'test', 'support', 'worker-entry.cjs');

/** Runs the simulator in a process of its own. @returns what it printed, and its exit code */
async function simulate(args: readonly string[]): Promise<[output: string, code: number]> {
  const child = fork(ENTRY, [join(__dirname, 'main.ts'), ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'exit')) as [number];
  return [output, code];
}

async function find({
  id,
  lib,
  defect,
}: SeededDefect): Promise<Counts & { readonly violation: string; readonly foreign: readonly string[] }> {
  const file = join(folder, `${id}.json`);
  writeFileSync(file, JSON.stringify(defect));
  const [output] = await simulate(['--lib', lib, '--defect', file, '--seconds', values.seconds, '--cpu', '--json']);
  const lines = output.trim().split('\n');
  const counts = JSON.parse(lines.at(-1) ?? '{}') as Counts;
  const found = lines.filter((line) => /^\S+, seed \d+: /.test(line));
  const again = lines.flatMap((line) => /^Again: npm run simulate -- (.*)$/.exec(line)?.slice(1) ?? []);
  // A run that violates something without the defect, too, has not found the defect.
  const isOwn = await Promise.all(again.map(async (args) => (await simulate(args.split(' ')))[1] === 0));
  const violations = isOwn.filter(Boolean).length;
  const foreign = again.filter((_, index) => !isOwn[index]);
  return { ...counts, violations, violation: found[isOwn.indexOf(true)] ?? '', foreign };
}

async function main(): Promise<void> {
  const chosen = seededDefects.filter(({ id }) => positionals.length === 0 || positionals.includes(id));
  let found = 0;
  for (const seeded of chosen) {
    const { violations, undecided, runs, cpuSeconds, violation, foreign } = await find(seeded);
    const isFound = violations > 0;
    if (isFound) found += 1;
    // It says nothing: the machine may have been too busy.
    const ended = undecided > 0 ? 'MISSED, and a run did not end' : 'MISSED';
    const missed = foreign.length > 0 ? `MISSED, and wrong without the defect, too: ${foreign.join('; ')}` : ended;
    const how = isFound ? `found: ${violation}` : missed;
    process.stdout.write(
      `${seeded.id} ${seeded.lib} (${seeded.what}), ${runs} runs, ${Math.round(cpuSeconds)} s: ${how}\n`,
    );
  }
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(`${found} of ${chosen.length} found\n`);
}

void main();
