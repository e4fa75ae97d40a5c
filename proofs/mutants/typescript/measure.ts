import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lua/scripts';
import type { Settings } from '../settings';
import { hashOf, readResult, writeResult, type FileResult } from '../results';
import { instrument } from './instrument';
import { LibRun } from './lib-run';
import { filesOf } from './rooms';

/** Measures the TypeScript of a lib, and writes what is known after each file. */
export async function measureTypescript(lib: string, settings: Settings): Promise<void> {
  const { log } = settings;
  const texts = new Map(filesOf(lib).map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
  const known = new Map<string, FileResult>(Object.entries(readResult(lib, 'typescript', texts)));
  const wanted = [...texts.keys()].filter(
    (path) => settings.rooms.some((room) => path.includes(room)) && !(settings.changed && known.has(path)),
  );
  if (wanted.length === 0) return;
  const run = new LibRun(lib, await instrument(lib), settings);
  try {
    const from = performance.now();
    const failing = await run.cover();
    log(`${lib}: ${run.tests} tests, ${seconds(from)}`);
    for (const { test, failure } of failing) log(`  not used: ${test}: ${failure?.split('\n', 1)[0]}`);
    for (const path of wanted) {
      if (performance.now() > settings.endMs) return log(`${path}: no time left`);
      const begun = performance.now();
      const result = await run.measure(path, hashOf(texts.get(path) ?? ''));
      known.set(path, result);
      writeResult(lib, 'typescript', Object.fromEntries([...known].sort()));
      log(`${path}: ${result.mutants} mutants, ${result.survivors.length} survivors, ${seconds(begun)}`);
    }
  } finally {
    run.stop();
  }
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
