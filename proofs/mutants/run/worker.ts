// A process that runs tests of one lib on mutants: node worker-entry.cjs worker.ts LIB states|others
import { virtualTime } from './virtual-time';
virtualTime.install();
process.env.LUANEST_TEST_SERVER = 'memory';
// Suites that run on one server only choose the Cluster, which is not here.
process.env.LUANEST_ALL_SERVERS = '1';
import { readdirSync, readFileSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';
import { LibScripts, ROOT, type Mutant } from '../lua/scripts';
import { noteServers, runTest } from './execute';
import type { Coverage, Outcome, Task } from './messages';
import { swap } from './swap';
import { TestTree, type Test } from './test-tree';

/**
 * Files with these start processes of their own, or wait for sockets. Tests that only need a real server of Redis fail by
 * themselves in memory.
 */
const OUTSIDE = /child_process|forkWorker|fork-worker|startWorker|openHttp|fetch\(|getUrl|app\.listen\(/;
/** Tests of single scripts in exact states. */
const STATES = /^states.*\.spec\.ts$/;
const COVER_LIMITS = { virtualMs: 120_000, realMs: 6_000 };

const [lib = '', files] = process.argv.slice(3);
const scripts = LibScripts.read().get(lib) as LibScripts;
const mutants: readonly Mutant[] = scripts.mutants();
const tests = load();

process.on('uncaughtException', () => undefined);
process.on('unhandledRejection', () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (task: Task) => {
  void answer(task).then((result) => process.send?.(result));
});

function load(): Map<string, Test> {
  const folder = join(ROOT, 'libs', lib, 'test');
  const tree = new TestTree();
  tree.install();
  swap.install();
  noteServers();
  refuseServers();
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith('.spec.ts') || STATES.test(name) !== (files === 'states')) continue;
    if (OUTSIDE.test(readFileSync(join(folder, name), 'utf8'))) continue;
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- it defines its tests when it is loaded
    tree.load(name, (file) => require(join(folder, file)) as unknown);
  }
  return new Map(tree.tests.map((test) => [test.id, test]));
}

/** Lets the functions that start servers fail at once. */
function refuseServers(): void {
  const loader = Module as unknown as { _load: (request: string, ...rest: unknown[]) => object };
  const { _load: loadModule } = loader;
  const refuse = (): Promise<never> => Promise.reject(new Error('needs a real server'));
  loader._load = (request, ...rest) => {
    const loaded = loadModule(request, ...rest);
    if (request !== 'luanest/testing/servers') return loaded;
    const starters = Object.keys(loaded).filter((name) => name.startsWith('start'));
    return { ...loaded, ...Object.fromEntries(starters.map((name) => [name, refuse])) };
  };
}

async function answer(task: Task): Promise<readonly string[] | Coverage | Outcome> {
  if (task.kind === 'list') return [...tests.keys()];
  if (task.kind === 'cover') return cover(tests.get(task.test) as Test);
  swap.texts = scripts.textsOf(mutants[task.index] as Mutant);
  for (const { test, virtualMs, realMs } of task.orders) {
    const failure = await runTest(tests.get(test) as Test, { virtualMs, realMs });
    if (failure !== undefined) return { killer: test, failure: failure.slice(0, 200), megabytes: megabytes() };
  }
  return { megabytes: megabytes() };
}

function megabytes(): number {
  return process.memoryUsage.rss() / 1_000_000;
}

async function cover(test: Test): Promise<Coverage> {
  swap.texts = new Map();
  const from = { virtual: virtualTime.nowMs(), real: virtualTime.realMs() };
  let failure = await runTest(test, COVER_LIMITS);
  const virtualMs = virtualTime.nowMs() - from.virtual;
  const realMs = virtualTime.realMs() - from.real;
  swap.texts = scripts.marked();
  swap.ran.clear();
  failure ??= await runTest(test, COVER_LIMITS);
  return { test: test.id, virtualMs, realMs, ran: [...swap.ran], failure };
}
