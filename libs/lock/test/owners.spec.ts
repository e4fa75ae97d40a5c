import fc from 'fast-check';
import { nodeOf, OwnerTokens } from '../src/locks/acquirer';

describe('owner tokens', () => {
  it('are never the same for two acquisitions of one name, and name their holder', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_500 }), { maxLength: 6_000 }), (ids) => {
        const owners = new OwnerTokens('host:1');
        const seen = new Set<string>();
        for (const id of ids) {
          const token = owners.tokenFor(`name-${id}`);
          expect(nodeOf(token)).toBe('host:1');
          expect(seen.has(`${id} ${token}`)).toBe(false);
          seen.add(`${id} ${token}`);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('are shared by names that are taken together, and by no other process', () => {
    const owners = new OwnerTokens('host:1');
    const token = owners.tokenFor('a');
    expect(owners.tokenFor('b')).toBe(token);
    expect(owners.tokenFor('a')).not.toBe(token);
    expect(new OwnerTokens('host:1').tokenFor('a')).not.toBe(token);
  });

  it('are shared by 1,024 names at most, because these are kept in memory', () => {
    const owners = new OwnerTokens('host:1');
    const tokens = Array.from({ length: 1_025 }, (_, i) => owners.tokenFor(`name-${i}`));
    expect(new Set(tokens.slice(0, 1_024)).size).toBe(1);
    expect(tokens[1_024]).not.toBe(tokens[0]);
  });
});
