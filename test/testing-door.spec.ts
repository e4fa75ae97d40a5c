import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { exportedLibs } from './support/libs';

const ROOT = join(__dirname, '..');

/** Returns the libs whose files a process has loaded after it has required some doors. */
function libsLoadedBy(doors: readonly string[]): string[] {
  const code = `
    for (const door of ${JSON.stringify(doors)}) require(door);
    const libs = Object.keys(require.cache).map((file) => /dist.libs.([a-z-]+)/.exec(file)?.[1]);
    console.log(JSON.stringify([...new Set(libs.filter(Boolean))].sort()));`;
  return JSON.parse(execFileSync(process.execPath, ['--eval', code], { cwd: ROOT, encoding: 'utf8' })) as string[];
}

it('no door for production loads luanest/testing', () => {
  const production = exportedLibs().filter((lib) => lib !== 'testing');
  const loaded = libsLoadedBy([...production.map((lib) => `luanest/${lib}`), 'luanest/rate-limit/throttler-storage']);
  expect(loaded).toEqual([...production, 'internal', 'worker'].sort());
});

it('luanest/testing loads only the libs that every app has', () => {
  expect(libsLoadedBy(['luanest/testing'])).toEqual(['internal', 'memory-redis', 'script-registry', 'testing']);
});

it('luanest/console loads no lib that the app does not import', () => {
  expect(libsLoadedBy(['luanest/console'])).toEqual(['console', 'internal', 'script-registry']);
});
