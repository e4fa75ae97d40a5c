// A process that runs tests of one lib on mutants of its TypeScript: node worker-entry.cjs worker.ts LIB FILE
// FILE has the instrumented sources. A mutant of code that runs when its module is loaded is set by a variable of the environment.
import { virtualTime } from '../run/virtual-time';
virtualTime.install();
process.env.LUANEST_TEST_SERVER = 'memory';
// Suites that run on one server only choose the Cluster, which is not here.
process.env.LUANEST_ALL_SERVERS = '1';
import { readdirSync, readFileSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { ROOT } from '../lua/scripts';
import { noteServers, runTest } from '../run/execute';
import { TestTree, type Test } from '../run/test-tree';
import type { Answer, Coverage, Outcome, Task } from './messages';
import { TESTS_OF } from './rooms';

/** Files with these start processes of their own, or wait for sockets. */
const OUTSIDE = /child_process|forkWorker|fork-worker|startWorker|openHttp|fetch\(|getUrl|app\.listen\(/;
const COVER_LIMITS = { virtualMs: 120_000, realMs: 10_000 };
/** How many times more often than without it a mutant may run, before its loop counts as endless. */
const HIT_FACTOR = 100;
const LEAST_HITS = 10_000;

interface Stryker {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

const stryker: Stryker = ((globalThis as { __stryker__?: Stryker }).__stryker__ ??= {});
const lib = process.argv[3] ?? '';
const texts = JSON.parse(readFileSync(process.argv[4] ?? '', 'utf8')) as Readonly<Record<string, string>>;
const tests = new Map<string, Test>();
let loadFailure: string | undefined;
let atLoad: readonly string[] = [];

process.on('uncaughtException', () => undefined);
process.on('unhandledRejection', () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (task: Task) => {
  void answer(task).then((result) => process.send?.({ result } satisfies Answer));
});

try {
  load();
  atLoad = Object.keys(stryker.mutantCoverage?.static ?? {});
} catch (error) {
  loadFailure = `the tests cannot be loaded: ${String(error)}`;
}

function load(): void {
  const tree = new (TestTree as new (cluster?: boolean) => TestTree)(false);
  tree.install();
  noteServers();
  refuseServers();
  instrumentedSources();
  // Modules are loaded when they are first used. What these run then must not count as run by a test.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- so that they are loaded now
  for (const path of Object.keys(texts)) require(join(ROOT, path));
  for (const one of TESTS_OF[lib] ?? []) {
    const folder = join(ROOT, 'libs', one, 'test');
    for (const name of readdirSync(folder).sort()) {
      if (!name.endsWith('.spec.ts') || OUTSIDE.test(readFileSync(join(folder, name), 'utf8'))) continue;
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- it defines its tests when it is loaded
      tree.load(`${one}/${name}`, () => require(join(folder, name)) as unknown);
    }
  }
  for (const test of tree.tests) tests.set(test.id, test);
}

/** Loads the instrumented sources in place of the files. */
function instrumentedSources(): void {
  const { extensions } = require;
  const plain = extensions['.ts'] as (module: NodeModule, filename: string) => void;
  const byFile = new Map(Object.entries(texts).map(([path, text]) => [join(ROOT, path), text]));
  extensions['.ts'] = (module: NodeModule, filename: string) => {
    const text = byFile.get(filename);
    if (text === undefined) return plain(module, filename);
    const { code } = transformSync(text, {
      filename,
      jsc: {
        target: 'es2023',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
      module: { type: 'commonjs', lazy: true } as never,
    });
    (module as unknown as { _compile(code: string, filename: string): void })._compile(code, filename);
  };
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
  if (task.kind === 'cover') return cover(task.test);
  if (loadFailure !== undefined) return { killer: '', failure: loadFailure, megabytes: 0 };
  for (const { test, virtualMs, realMs } of task.orders) {
    process.send?.({ progressMs: 2 * realMs + 5_000 } satisfies Answer);
    stryker.activeMutant = task.id;
    stryker.hitCount = 0;
    stryker.hitLimit = LEAST_HITS + HIT_FACTOR * task.hits;
    const failure = await runTest(tests.get(test) as Test, { virtualMs, realMs });
    if (failure === undefined) continue;
    if (task.loaded) return { killer: test, failure: failure.slice(0, 200), megabytes: megabytes() };
    // What a mutant leaves behind must not fail the tests of the next one.
    stryker.activeMutant = undefined;
    const spoiled = (await runTest(tests.get(test) as Test, { virtualMs, realMs })) !== undefined;
    return { killer: test, failure: failure.slice(0, 200), megabytes: megabytes(), spoiled };
  }
  return { megabytes: megabytes() };
}

function megabytes(): number {
  return process.memoryUsage.rss() / 1_000_000;
}

/** Runs a test twice without a mutant, since it must pass whenever it is run. */
async function cover(test: string): Promise<Coverage> {
  const from = { virtual: virtualTime.nowMs(), real: virtualTime.realMs() };
  stryker.currentTestId = test;
  let failure = await runTest(tests.get(test) as Test, COVER_LIMITS);
  stryker.currentTestId = undefined;
  const virtualMs = virtualTime.nowMs() - from.virtual;
  const realMs = virtualTime.realMs() - from.real;
  failure ??= await runTest(tests.get(test) as Test, COVER_LIMITS);
  const hits = stryker.mutantCoverage?.perTest[test] ?? {};
  return { test, virtualMs, realMs, hits, atLoad, failure };
}
