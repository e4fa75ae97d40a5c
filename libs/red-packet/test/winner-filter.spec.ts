import { WinnerFilter } from '../src/grabs/winner-filter';

describe('the filter of winners', () => {
  it.each([0, 1, 5, 1_000])('has each of %i winners', (count) => {
    const filter = new WinnerFilter(count);
    for (let i = 0; i < count; i++) filter.add(`user-${i}`);
    expect(Array.from({ length: count }, (_, i) => filter.mayHave(`user-${i}`))).not.toContain(false);
  });

  it('has nobody at first', () => {
    const filter = new WinnerFilter(10);
    expect([filter.mayHave(''), filter.mayHave('u')]).toEqual([false, false]);
  });

  it.each([
    ['numbers', (i: number) => `${i}`],
    ['numbers after the same text', (i: number) => `user-${i}`],
    ['long names', (i: number) => `${'x'.repeat(40)}${i * 7}`],
  ])('takes at most one in 250 others for a winner: %s', (_, nameOf) => {
    const filter = new WinnerFilter(2_000);
    for (let i = 0; i < 2_000; i++) filter.add(nameOf(i));
    let wrong = 0;
    for (let i = 2_000; i < 22_000; i++) if (filter.mayHave(nameOf(i))) wrong += 1;
    expect(wrong).toBeLessThan(80);
  });

  it('has 2 to 4 bytes for each winner, and at least 8', () => {
    const bytesOf = (winners: number): number =>
      (new WinnerFilter(winners) as unknown as { words: Uint32Array }).words.byteLength;
    expect([bytesOf(0), bytesOf(4), bytesOf(5), bytesOf(64), bytesOf(65), bytesOf(1_000)]).toEqual([
      8, 8, 16, 128, 256, 2_048,
    ]);
  });
});
