// npm run histories -- [subject] [--histories N] [--seconds S] [--seed N] [--json], or: npm run histories -- replay FILE
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { runCampaign, totalOf, type Violation } from './campaign';
import { checkHistory, linesOf } from './check-history';
import { writeReport } from './report';
import { subjectOf, subjects } from './subjects';

const FOLDER = join(__dirname, '..', '..', 'data', 'histories');
/** Histories of a run without `--histories`. */
const USUAL_HISTORIES = 10_000;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(3),
    allowPositionals: true,
    options: {
      histories: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'boolean' },
    },
  });
  const [name, file] = positionals;
  if (name === 'replay') return replay(file);
  const quiet = values.json === true;
  const result = await runCampaign({
    subjects: name === undefined ? subjects.map((one) => one.name) : [subjectOf(name).name],
    histories: Number(values.histories ?? USUAL_HISTORIES),
    seconds: values.seconds === undefined ? undefined : Number(values.seconds),
    seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
    log: (line) => quiet || print(line),
    violated: (violation) => keep(violation, quiet),
  });
  const { seed, seconds, faults, violations } = result;
  const total = totalOf(result.counts);
  const figures = { ...total, faults: Object.fromEntries(faults), seconds, violations: violations.length, seed };
  if (quiet) print(JSON.stringify(figures));
  else print(`${total.histories} histories in ${seconds.toFixed(0)} s, ${violations.length} violations, seed ${seed}`);
  if (name === undefined && values.histories === undefined) await writeReport(result);
  if (violations.length > 0) process.exitCode = 1;
}

function keep(violation: Violation, quiet: boolean): void {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${violation.plan.key}.json`);
  writeFileSync(file, `${JSON.stringify(violation, null, 2)}\n`);
  if (!quiet)
    print(
      `${violation.plan.key} (${violation.plan.flavour}): ${violation.problem}\nnpm run histories -- replay ${file}`,
    );
}

/** Checks a kept history again, and prints it up to the return that no order explains. */
function replay(file: string | undefined): void {
  if (file === undefined) throw new Error('Expected: npm run histories -- replay FILE');
  const { plan, recorded } = JSON.parse(readFileSync(file, 'utf8')) as Violation;
  const { verdict, problem } = checkHistory(plan, recorded);
  if (verdict.result === 'not linearizable') print(linesOf(verdict.prefix).join('\n'));
  print(problem ?? 'The history is linearizable.');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

Logger.overrideLogger(false);
main().then(
  () => process.exit(),
  (error: unknown) => {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exit(1);
  },
);
