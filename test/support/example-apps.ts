import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './snippets';

/** Names of the apps in examples/. */
export const exampleApps: readonly string[] = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'testing')
  .map(({ name }) => name);

/**
 * Defines the tests of all apps in the calling test file, so that Jest loads what they import once.
 *
 * @param kind `app`: a few seconds. `kill`: processes are killed, and their leases end
 */
export function defineExampleTests(kind: 'app' | 'kill'): void {
  const file = `${kind}.e2e-spec.ts`;
  for (const app of exampleApps) {
    const folder = join(ROOT, 'examples', app, 'test');
    if (kind === 'app' || readdirSync(folder).includes(file)) jest.requireActual(join(folder, file));
  }
}
