import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lua/scripts';
import { filesOf, ROOMS } from '../typescript/rooms';

it.each(Object.entries(ROOMS))('mutants of TypeScript: the rooms of %s exist', (lib, rooms) => {
  expect(rooms.filter((room) => !existsSync(join(ROOT, 'libs', lib, 'src', room)))).toEqual([]);
  const files = filesOf(lib);
  expect(files.length).toBeGreaterThanOrEqual(rooms.length);
  expect(files.filter((path) => /\.(scripts|types)\.ts$/.test(path))).toEqual([]);
});
