import type { Settings } from '../settings';
import { readResult, writeResult, type FileResult } from '../results';
import type { TestFiles } from '../run/messages';
import { LibRun } from './lib-run';
import type { LibScripts } from './scripts';

/** Measures the scripts of a lib, and writes what is known after each file. */
export async function measureLua(scripts: LibScripts, settings: Settings): Promise<void> {
  const { lib, files } = scripts;
  const { log } = settings;
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const known = new Map<string, FileResult>(settings.changed ? Object.entries(readResult(lib, 'lua', texts)) : []);
  const measure = async (tests: TestFiles, wanted: readonly string[]): Promise<void> => {
    if (wanted.length === 0) return;
    const run = new LibRun(scripts, settings.workers, tests);
    try {
      const from = performance.now();
      const failing = await run.cover();
      log(`${lib}, ${tests === 'states' ? 'tests of states' : 'other tests'}: ${run.usable.length}, ${seconds(from)}`);
      for (const { test, failure } of failing) log(`  not used: ${test}: ${failure?.split('\n', 1)[0]}`);
      for (const path of wanted) {
        if (performance.now() > settings.endMs) return log(`${path}: no time left`);
        const begun = performance.now();
        const result = await run.measure(path, known.get(path));
        known.set(path, result);
        writeResult(lib, 'lua', Object.fromEntries([...known].sort()));
        log(`${path}: ${result.mutants} mutants, ${result.survivors.length} survivors, ${seconds(begun)}`);
      }
    } finally {
      run.stop();
    }
  };
  // Tests of states are short and find most mutants. Only what survives them gets the other tests.
  await measure(
    'states',
    [...texts.keys()].filter((path) => !known.has(path)),
  );
  const open = [...known].filter(([, { complete, survivors }]) => !complete && survivors.length > 0);
  if (!settings.onlyStates)
    await measure(
      'others',
      open.map(([path]) => path),
    );
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
