import type { useDefect } from '../engine/loader';
import { libs } from '../libs';
import { seededDefects } from '../seeded';

describe('a seeded defect', () => {
  it.each(seededDefects)('$id of $lib fits the source of today: $what', ({ lib, defect }) => {
    expect(libs.map(({ name }) => name)).toContain(lib);
    jest.isolateModules(() => {
      // The texts of the defects before would be in the way.
      const loader = jest.requireActual<{ useDefect: typeof useDefect }>('../engine/loader');
      expect(() => loader.useDefect(defect)).not.toThrow();
    });
  });

  it('has an id of its own', () => {
    expect(new Set(seededDefects.map(({ id }) => id)).size).toBe(seededDefects.length);
  });
});
