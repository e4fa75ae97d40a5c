import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { useDefect, type Defect } from './engine/loader';
import { planOf, type Plan } from './engine/plan';
import { World, type Lib, type Result } from './engine/world';
import { libs } from './libs';
import { exploreOrders } from './orders';
import { shrunk } from './shrink';
import { Variants } from './systematic';
import { tableOf } from './table';

/** Processes of the operating system that run the seeds, one for each core of CI. */
const WORKERS = 2;
/** A run that takes longer than this is undecided, s. It is long, because other programs may need the cores, too. */
const LONGEST_RUN_S = 300;

/** Search through orders: late messages in a run, and runs of one seed, at most. */
const MOST_LATE = 2;
const MOST_ORDERS = 5_000;

/** Seeds that have shown something that few others show. */
const CORPUS = join(__dirname, 'corpus.json');

/** A seed of the corpus. */
interface Entry {
  readonly lib: string;
  readonly seed: number;
  readonly variant?: number;
  /** Faults that the run must have, or it no longer shows what it was kept for. */
  readonly faults: readonly string[];
  readonly why: string;
}

/** A run that ended in a violation. */
interface Finding {
  readonly seed: number;
  readonly variant: number | undefined;
  readonly lib: string;
  readonly violation: string;
  readonly table: string;
}

interface Counts {
  steps: number;
  runs: number;
  cpuSeconds: number;
  readonly faults: Record<string, number>;
}

type Message = { readonly finding: Finding } | { readonly begins: number } | { readonly counts: Counts };

/** Arguments of the command line. */
function argumentsOf(argv: string[]) {
  const { values } = parseArgs({
    args: argv,
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string' },
      variant: { type: 'string' },
      cpu: { type: 'boolean', default: false },
      runs: { type: 'string' },
      lib: { type: 'string', multiple: true, default: [] },
      without: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
      corpus: { type: 'boolean', default: false },
      orders: { type: 'boolean', default: false },
      defect: { type: 'string' },
      worker: { type: 'string' },
    },
  });
  const unknown = values.lib.filter((name) => !libs.some((lib) => lib.name === name));
  if (unknown.length > 0) {
    throw new Error(`There is no lib "${unknown.join()}". Libs: ${libs.map(({ name }) => name).join(', ')}.`);
  }
  const chosen = libs.filter(({ name }) => values.lib.length === 0 || values.lib.includes(name));
  const seed = values.seed === undefined ? undefined : Number(values.seed);
  return { ...values, seconds: Number(values.seconds), seed, without: new Set(values.without), libs: chosen };
}
type Arguments = ReturnType<typeof argumentsOf>;

export async function main(): Promise<void> {
  const argv = process.argv.slice(3);
  const given = argumentsOf(argv);
  if (given.defect !== undefined) useDefect(JSON.parse(readFileSync(given.defect, 'utf8')) as Defect);
  if (given.worker !== undefined) return work(given, Number(given.worker));
  if (given.corpus) return runCorpus();
  if (given.orders) return runOrders(given);
  if (given.seed !== undefined && given.runs === undefined) return repeat(given, given.seed);
  await campaign(given, argv);
}

/** Runs one seed of each chosen lib, and prints what happened. */
function repeat(given: Arguments, seed: number): void {
  for (const lib of given.libs) {
    const { variant } = given;
    const plan =
      variant === undefined
        ? planOf(lib, seed, given.without)
        : new Variants(lib, seed, given.without).plan(Number(variant));
    const world = new World(lib, plan, given.trace);
    const result = world.run();
    if (given.trace) print(tableOf(world, true));
    else if (result.violation !== undefined) print(tell(lib, plan, result.violation).table);
    print(JSON.stringify({ lib: lib.name, seed, ...result }));
    if (result.violation !== undefined) process.exitCode = 1;
  }
}

/** Runs the seeds of the corpus. */
function runCorpus(): void {
  for (const entry of JSON.parse(readFileSync(CORPUS, 'utf8')) as Entry[]) {
    const { lib: name, seed, variant } = entry;
    const lib = libs.find((one) => one.name === name) as Lib;
    const plan = variant === undefined ? planOf(lib, seed) : new Variants(lib, seed).plan(variant);
    const result = new World(lib, plan).run();
    const lacks = entry.faults.filter((kind) => result.faults[kind] === undefined);
    print(JSON.stringify({ ...entry, lacks, ...result }));
    if (result.violation !== undefined || lacks.length > 0) process.exitCode = 1;
  }
}

/** Tries all orders of the small runs of one seed, or of `runs` seeds, with at most two late messages. */
function runOrders({ libs: chosen, seed: first = 1, runs = '1' }: Arguments): void {
  for (let seed = first; seed < first + Number(runs); seed++) {
    for (const lib of chosen) {
      const { violation, ...counts } = exploreOrders(lib, seed, MOST_LATE, MOST_ORDERS);
      if (violation !== undefined) print(tell(lib, violation.plan, violation.text).table);
      print(JSON.stringify({ lib: lib.name, seed, ...counts, ...(violation && { violation: violation.text }) }));
      if (violation !== undefined) process.exitCode = 1;
    }
  }
}

/** Runs seeds in several processes until the time is over, or something does not hold. */
async function campaign(given: Arguments, argv: string[]): Promise<void> {
  const began = performance.now();
  const first = given.seed ?? Date.now() % 1e9;
  const findings: Finding[] = [];
  const total: Counts = { steps: 0, runs: 0, cpuSeconds: 0, faults: {} };
  let undecided = 0;
  const entry = join(__dirname, '..', '..', 'test', 'support', 'worker-entry.cjs');
  const children = new Set<ChildProcess>();
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, index) => {
      const own = [join(__dirname, 'main.ts'), ...argv, '--seed', String(first), '--worker', String(index)];
      const child = fork(entry, own, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      children.add(child);
      let counted = false;
      let running = first;
      let limit = setTimeout(() => child.kill('SIGKILL'), (given.seconds + LONGEST_RUN_S) * 1_000);
      child.on('message', (message: Message) => {
        if ('finding' in message) {
          findings.push(message.finding);
          // They need not go on.
          for (const other of children) if (other !== child) other.kill('SIGKILL');
        } else if ('begins' in message) {
          running = message.begins;
          clearTimeout(limit);
          limit = setTimeout(() => child.kill('SIGKILL'), LONGEST_RUN_S * 1_000);
        } else {
          counted = true;
          add(total, message.counts);
        }
      });
      // The last messages may come after the exit.
      await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
      clearTimeout(limit);
      children.delete(child);
      if (counted || findings.length > 0) return;
      undecided++;
      print(`The run of seed ${running} did not end.`);
    }),
  );
  for (const { seed, variant, lib, violation, table } of findings) {
    const again = `--lib ${lib} --seed ${seed}${variant === undefined ? '' : ` --variant ${variant}`}`;
    print(`${table}\n\n${lib}, seed ${seed}: ${violation}\nAgain: npm run simulate -- ${again}\n`);
  }
  const seconds = (performance.now() - began) / 1_000;
  const { steps, runs, faults, cpuSeconds } = total;
  const violations = findings.length;
  if (violations + undecided > 0) process.exitCode = 1;
  if (given.json)
    return print(JSON.stringify({ steps, runs, violations, undecided, faults, seed: first, seconds, cpuSeconds }));
  const rate = Math.round(steps / cpuSeconds).toLocaleString('en');
  print(
    `${steps.toLocaleString('en')} steps in ${runs} runs, ${seconds.toFixed(0)} s, ${rate} steps per second of CPU, ` +
      `${violations} violations, ${undecided} undecided, first seed ${first}`,
  );
}

/** A run to do, and where it comes from. */
interface Run {
  readonly lib: Lib;
  readonly plan: Plan;
  readonly variant: number | undefined;
}

/** The runs of seeds `first`, `first + WORKERS` and so on. */
function* randomRuns({ libs: chosen, without }: Arguments, first: number, index: number): Generator<Run> {
  for (let run = index; ; run += WORKERS) {
    const lib = chosen[run % chosen.length] as Lib;
    yield { lib, plan: planOf(lib, first + run, without), variant: undefined };
  }
}

/** The variants of small runs of these seeds. */
function* variantRuns({ libs: chosen, without }: Arguments, first: number, index: number): Generator<Run> {
  for (let run = index; ; run += WORKERS) {
    const lib = chosen[run % chosen.length] as Lib;
    const variants = new Variants(lib, first + run, without);
    for (const variant of variants.numbers) yield { lib, plan: variants.plan(variant), variant };
  }
}

/** Runs every `WORKERS`th seed, and sends what it finds to the parent. Half of the time goes to variants of small runs, unless `runs` is given. */
function work(given: Arguments, index: number): void {
  const { seed: first = 1, seconds, runs: mostRuns } = given;
  const send = (message: Message): void => void process.send?.(message);
  const counts: Counts = { steps: 0, runs: 0, cpuSeconds: 0, faults: {} };
  // On a busy machine, time of the CPU says how much was tried.
  const nowMs = given.cpu ? cpuMs : () => performance.now();
  const untilMs = nowMs() + seconds * 1_000;
  const most = mostRuns === undefined ? Infinity : Math.ceil((Number(mostRuns) - index) / WORKERS);
  const sources = [
    randomRuns(given, first, index),
    ...(mostRuns === undefined ? [variantRuns(given, first, index)] : []),
  ];
  const spentMs = sources.map(() => 0);
  for (let done = 0; done < most && nowMs() < untilMs; done++) {
    const source = spentMs.indexOf(Math.min(...spentMs));
    const beganMs = performance.now();
    const { lib, plan, variant } = sources[source]?.next().value as Run;
    send({ begins: plan.seed });
    const { steps, faults, violation } = new World(lib, plan).run();
    add(counts, { steps, runs: 1, cpuSeconds: 0, faults });
    spentMs[source] = (spentMs[source] as number) + performance.now() - beganMs;
    if (violation === undefined) continue;
    send({ finding: { ...tell(lib, plan, violation, () => send({ begins: plan.seed })), variant } });
    break;
  }
  // A message that the parent has not read yet is lost when the channel closes, so it closes afterwards.
  process.send?.({ counts: { ...counts, cpuSeconds: cpuMs() / 1_000 } }, () => process.disconnect?.());
}

/** Returns the shortest run that has the same violation, as a table. */
function tell(lib: Lib, plan: Plan, violation: string, begins: () => void = () => undefined): Finding {
  const shortest = shrunk(plan, violation, (one) => {
    begins();
    return new World(lib, one).run().violation;
  });
  const world = new World(lib, shortest, true);
  const result: Result = world.run();
  return {
    seed: plan.seed,
    variant: undefined,
    lib: lib.name,
    violation: result.violation ?? violation,
    table: tableOf(world, false),
  };
}

/** Returns the CPU that this process has used, ms. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function add(total: Counts, counts: Counts): void {
  total.steps += counts.steps;
  total.runs += counts.runs;
  total.cpuSeconds += counts.cpuSeconds;
  for (const [kind, count] of Object.entries(counts.faults)) total.faults[kind] = (total.faults[kind] ?? 0) + count;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
