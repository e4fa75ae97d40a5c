import { join } from 'node:path';
import { tableOf, words } from '../test/support/markdown';
import { doors, loadedBy } from './door-sizes.mjs';

const ROOT = join(__dirname, '..');
const rows = tableOf('docs/sizes.md', 'import', 'files', 'kB of code');

describe('docs/sizes.md', () => {
  it('has each door: run npm run sizes', () => {
    const listed = rows.flatMap(([name]) => words(name));
    expect(listed.sort()).toEqual([...doors()].sort());
  });

  it.each(['luanest/rate-limit', 'luanest/lock'])('says about what %s loads: run npm run sizes', (door) => {
    const [, , kB = ''] = rows.find(([name]) => words(name)[0] === door) ?? [];
    const said = Number(kB.replaceAll(',', '')) * 1_000;
    const { files, bytes } = loadedBy(ROOT, [door]);
    expect(files).toBeGreaterThan(50);
    expect(said / bytes).toBeGreaterThan(0.85);
    expect(said / bytes).toBeLessThan(1.15);
  });
});
