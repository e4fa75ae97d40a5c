import { setImmediate as turn } from 'node:timers/promises';
import type { Call } from '../src/group/call';
import { Deadlines } from '../src/group/deadlines';
import type { Lane } from '../src/group/lane';

/** A lane as Deadlines sees it: with the deadlines of its calls. */
class Calls {
  idle = false;
  readonly expired: number[] = [];
  released = 0;

  constructor(readonly dueAt: number[]) {}

  expire(now: number): number {
    this.expired.push(now);
    this.dueAt.splice(0, Infinity, ...this.dueAt.filter((due) => due > now));
    return Math.min(Infinity, ...this.dueAt);
  }

  release(): void {
    this.released++;
  }
}

describe('the deadlines of calls, while the test sets the clock,', () => {
  let now = 0;
  let rings: { ms: number; ring: () => void; refs: string[] }[] = [];
  let cleared = 0;

  beforeEach(() => {
    now = 1_000;
    rings = [];
    cleared = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((ring: () => void, ms: number) => {
      const refs: string[] = [];
      rings.push({ ring, ms, refs });
      return { ref: () => refs.push('ref'), unref: () => refs.push('unref') };
    }) as never);
    jest.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => void (timer !== undefined && cleared++));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Lets the last timer fire at a time. */
  async function ringAt(at: number): Promise<void> {
    now = at;
    rings.at(-1)?.ring();
    await turn();
  }

  function open(...lanes: Calls[]) {
    const busy = new Set(lanes as unknown as Lane[]);
    return { deadlines: new Deadlines(busy, (_call: Call) => undefined), busy };
  }

  it('reads the clock every 10 ms, and at the next deadline', async () => {
    const calls = new Calls([1_025]);
    const { deadlines } = open(calls);
    deadlines.watch(deadlines.dueAt(1_000, 25));
    expect(rings.map(({ ms, refs }) => [ms, refs])).toEqual([[10, ['unref']]]);
    await ringAt(1_010);
    await ringAt(1_020);
    expect(rings.map(({ ms }) => ms)).toEqual([10, 10, 5]);
    expect(calls.expired).toEqual([]);
    await ringAt(1_025);
    expect(calls.expired).toEqual([1_025]);
    // No call is left, so the last timer was cleared.
    expect([rings.map(({ ms }) => ms), cleared]).toEqual([[10, 10, 5, 10], 4]);
  });

  it('sets the timer again only for an earlier deadline', () => {
    const { deadlines } = open(new Calls([]));
    deadlines.watch(1_008);
    deadlines.watch(1_009);
    deadlines.watch(1_008);
    expect(rings.map(({ ms }) => ms)).toEqual([8]);
    deadlines.watch(1_002.5);
    expect(rings.map(({ ms }) => ms)).toEqual([8, 3]);
    deadlines.watch(1_000);
    // It is due already, but calls of this turn may still get replies.
    expect(rings.map(({ ms }) => ms)).toEqual([8, 3, 10]);
  });

  it('keeps the earlier deadline when a later one is added', async () => {
    const calls = new Calls([1_004, 1_030]);
    const { deadlines } = open(calls);
    deadlines.watch(1_004);
    deadlines.watch(1_030);
    await ringAt(1_004);
    expect(calls.expired).toEqual([1_004]);
  });

  it('goes on until the last deadline', async () => {
    const [one, two] = [new Calls([1_004, 1_009]), new Calls([1_006])];
    const { deadlines } = open(one, two);
    deadlines.watch(1_004);
    await ringAt(1_004);
    expect([one.expired, two.expired]).toEqual([[1_004], [1_004]]);
    await ringAt(1_014);
    expect([one.expired, two.expired]).toEqual([
      [1_004, 1_014],
      [1_004, 1_014],
    ]);
    deadlines.watch(1_050);
    expect(rings.at(-1)?.ms).toBe(10);
  });

  it('does not count the time of stalls, of more than 5 ms', async () => {
    const calls = new Calls([1_030]);
    const { deadlines } = open(calls);
    deadlines.watch(1_030);
    await ringAt(1_015);
    expect(deadlines.dueAt(1_015, 100)).toBe(1_115);
    // 15 ms late, so the deadline is 15 ms later too.
    await ringAt(1_040);
    expect([calls.expired, rings.at(-1)?.ms]).toEqual([[], 5]);
    // By the clock that stops during stalls, this is after the next reading.
    deadlines.watch(1_035);
    expect(rings).toHaveLength(3);
    expect([1_040, 1_039, 1_030, 1_000].map((since) => deadlines.dueAt(since, 100))).toEqual([
      1_125, 1_125, 1_125, 1_100,
    ]);
    await ringAt(1_045);
    expect(calls.expired).toEqual([1_030]);
  });

  it('releases lanes that are idle, and stops when none is busy', async () => {
    const [one, two] = [new Calls([]), new Calls([1_100])];
    one.idle = true;
    const { deadlines, busy } = open(one, two);
    deadlines.watch(1_100);
    await ringAt(1_010);
    expect([one.released, two.released, one.expired]).toEqual([1, 0, []]);
    const before = cleared;
    await ringAt(1_020);
    expect(cleared).toBe(before + 1);
    busy.clear();
    await ringAt(1_030);
    expect(cleared).toBe(before + 3);
    // As after the last deadline: the next one sets a new timer.
    deadlines.watch(2_000);
    expect([rings.at(-1)?.ms, rings.length]).toEqual([10, 5]);
  });

  it('keeps the process alive while calls wait for a connection', async () => {
    const calls = new Calls([1_005]);
    const { deadlines } = open(calls);
    deadlines.hold();
    deadlines.watch(1_005);
    deadlines.hold();
    expect(rings.map(({ refs }) => refs)).toEqual([['ref']]);
    await ringAt(1_005);
    deadlines.watch(1_050);
    expect(rings.map(({ refs }) => refs)).toEqual([['ref'], [], ['unref']]);
    deadlines.close();
    expect(cleared).toBe(3);
  });

  it('remembers the last 16 stalls for calls that began before them', async () => {
    const { deadlines } = open(new Calls([1e9]));
    deadlines.watch(1e9);
    for (let i = 1; i <= 17; i++) await ringAt(1_000 + i * 20);
    // Each was 10 ms late.
    expect(deadlines.dueAt(1_000, 0)).toBe(1_000 - 170 + 160);
    expect(deadlines.dueAt(1_335, 0)).toBe(1_335 - 170 + 5);
    expect(deadlines.dueAt(1_340, 0)).toBe(1_340 - 170);
  });
});
