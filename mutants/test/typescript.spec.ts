import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lua/scripts';
import { totals } from '../typescript/report';
import { readEquivalents, readResult } from '../typescript/results';
import { filesOf, ROOMS } from '../typescript/rooms';

describe('mutants of TypeScript', () => {
  it.each(Object.entries(ROOMS))('the rooms of %s exist', (lib, rooms) => {
    expect(rooms.filter((room) => !existsSync(join(ROOT, 'libs', lib, 'src', room)))).toEqual([]);
    const files = filesOf(lib);
    expect(files.length).toBeGreaterThanOrEqual(rooms.length);
    expect(files.filter((path) => /\.(scripts|types)\.ts$/.test(path))).toEqual([]);
  });

  it('each file that was measured has as many mutants as were killed or survive', () => {
    for (const lib of Object.keys(ROOMS)) {
      for (const file of Object.values(readResult(lib)?.files ?? {}))
        expect(file.killed + file.survivors.length).toBe(file.mutants);
    }
    const { all } = totals();
    expect(all.killed + all.equivalent + all.survivors).toBe(all.mutants);
  });

  it('each equivalent mutant has a reason', () => {
    expect(readEquivalents().filter(({ reason }) => reason.length < 20)).toEqual([]);
  });
});
