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

async function find({ id, lib, defect }: SeededDefect): Promise<Counts & { readonly violation: string }> {
  const file = join(folder, `${id}.json`);
  writeFileSync(file, JSON.stringify(defect));
  const entry = join(__dirname, '..', '..', 'test', 'support', 'worker-entry.cjs');
  const args = [
    join(__dirname, 'main.ts'),
    '--lib',
    lib,
    '--defect',
    file,
    '--seconds',
    values.seconds,
    '--cpu',
    '--json',
  ];
  const child = fork(entry, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'exit');
  const lines = output.trim().split('\n');
  const violation = lines.find((line) => /^\S+, seed \d+: /.test(line)) ?? '';
  return { ...(JSON.parse(lines.at(-1) ?? '{}') as Counts), violation };
}

async function main(): Promise<void> {
  const chosen = seededDefects.filter(({ id }) => positionals.length === 0 || positionals.includes(id));
  let found = 0;
  for (const seeded of chosen) {
    const { violations, undecided, runs, cpuSeconds, violation } = await find(seeded);
    const isFound = violations + undecided > 0;
    if (isFound) found += 1;
    const how = violations > 0 ? `found: ${violation}` : isFound ? 'found: a run did not end' : 'MISSED';
    process.stdout.write(
      `${seeded.id} ${seeded.lib} (${seeded.what}), ${runs} runs, ${Math.round(cpuSeconds)} s: ${how}\n`,
    );
  }
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(`${found} of ${chosen.length} found\n`);
}

void main();
