import { CappedUsersHint } from '../src/capped-users-hint';

/** Hashes that differ in all their bits, as those of users do. */
const hashOf = (i: number): number => Math.imul(i + 1, 0x85ebca6b) ^ Math.imul(i + 7, 0xc2b2ae35);

it('keeps a few users, and grows for many; forgets who has room again', () => {
  for (const [users, least] of [
    [50, 0.7],
    [20_000, 0.7],
  ] as const) {
    const full = new CappedUsersHint();
    const hashes = Array.from({ length: users }, (_, i) => hashOf(i));
    // Twice: a larger table begins empty.
    for (let time = 0; time < 2; time++) for (const hash of hashes) full.note(hash, 5, true);
    const kept = hashes.filter((hash) => full.has(hash, 5));
    expect(kept.length).toBeGreaterThan(users * least);
    expect(hashes.filter((hash) => full.has(hash, 6))).toEqual([]);
    for (const hash of kept) full.note(hash, 5, false);
    expect(hashes.filter((hash) => full.has(hash, 5))).toEqual([]);
  }
});
