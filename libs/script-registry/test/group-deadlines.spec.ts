import { setImmediate as turn } from 'node:timers/promises';
import { Call, Deadlines } from '../src/pipe/call';
import { append } from './support';

describe('the deadlines of calls, while the test sets the clock,', () => {
  let now = 0;
  let rings: { ms: number; ring: () => void; refs: string[] }[] = [];
  let cleared = 0;
  let busy = true;
  /** The actions in order: deadlines of the rejected calls, and `tidy` at each check. */
  let done: (number | string)[] = [];

  beforeEach(() => {
    [now, rings, cleared, busy, done] = [1_000, [], 0, true, []];
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

  function open() {
    const reject = (call: Call): void => {
      if (call.reject(new Error('late'))) done.push(call.expiresAt);
    };
    const deadlines = new Deadlines(reject, (expired) => {
      done.push(expired ? 'tidy after rejects' : 'tidy');
      return busy;
    });
    const none = (): void => undefined;
    const watch = (...dueAt: number[]): Call[] =>
      dueAt.map((at) => {
        const call = new Call(append, at, undefined, none, none);
        deadlines.watch(call);
        return call;
      });
    return { deadlines, watch };
  }

  it('does not lengthen a call that begins after a stall, before the late timer fires', async () => {
    const { deadlines, watch } = open();
    watch(deadlines.dueAt(1_000, 50));
    now = 1_500;
    const [call] = watch(deadlines.dueAt(1_500, 50));
    for (let at = 1_500; at <= 1_550; at += 10) await ringAt(at);
    expect(done).toContain(call?.expiresAt);
  });

  it('reads the clock every 10 ms, and at the next deadline', async () => {
    const { deadlines, watch } = open();
    watch(deadlines.dueAt(1_000, 25));
    expect(rings.map(({ ms, refs }) => [ms, refs])).toEqual([[10, ['unref']]]);
    await ringAt(1_010);
    await ringAt(1_020);
    expect([rings.map(({ ms }) => ms), done]).toEqual([
      [10, 10, 5],
      ['tidy', 'tidy'],
    ]);
    await ringAt(1_025);
    // No call is left, so the last timer was cleared.
    expect([done.slice(2), rings.map(({ ms }) => ms), cleared]).toEqual([[1_025, 'tidy after rejects'], [10, 10, 5, 10], 4]); // prettier-ignore
  });

  it('sets the timer again only for an earlier deadline', () => {
    const { watch } = open();
    watch(1_008, 1_009, 1_008);
    expect(rings.map(({ ms }) => ms)).toEqual([8]);
    watch(1_002.5);
    expect(rings.map(({ ms }) => ms)).toEqual([8, 3]);
    watch(1_000);
    // It is due already, but calls of this turn may still get replies.
    expect(rings.map(({ ms }) => ms)).toEqual([8, 3, 10]);
  });

  it('goes on until the last deadline, whatever the order of the calls', async () => {
    const { watch } = open();
    watch(1_009, 1_004, 1_030, 1_006);
    await ringAt(1_004);
    expect(done).toEqual([1_004, 'tidy after rejects']);
    await ringAt(1_014);
    expect(done.slice(2)).toEqual([1_009, 1_006, 'tidy after rejects']);
    await ringAt(1_024);
    await ringAt(1_030);
    expect(done.slice(5)).toEqual(['tidy', 1_030, 'tidy after rejects']);
    watch(1_050);
    expect(rings.at(-1)?.ms).toBe(10);
  });

  it('forgets a call that has its reply, wherever it is in the list', () => {
    for (const settled of [0, 1, 2]) {
      const { deadlines, watch } = open();
      done = [];
      const calls = watch(2_000, 2_001, 2_002);
      expect(calls[settled]?.resolve(1)).toBeUndefined();
      expect([calls[settled]?.previous, calls[settled]?.next]).toEqual([undefined, undefined]);
      deadlines.rejectAll();
      expect(done).toEqual([2_000, 2_001, 2_002].filter((_, i) => i !== settled));
      deadlines.close();
    }
  });

  it('does not count the time of stalls, of more than 5 ms', async () => {
    const { deadlines, watch } = open();
    watch(1_030);
    await ringAt(1_015);
    expect(deadlines.dueAt(1_015, 100)).toBe(1_115);
    // 15 ms late, so the deadline is 15 ms later too.
    await ringAt(1_040);
    expect([done, rings.at(-1)?.ms]).toEqual([['tidy', 'tidy'], 5]);
    // By the clock that stops during stalls, this is after the next reading.
    watch(1_035);
    expect(rings).toHaveLength(3);
    expect([1_040, 1_039, 1_030, 1_000].map((since) => deadlines.dueAt(since, 100))).toEqual([
      1_125, 1_125, 1_125, 1_100,
    ]);
    await ringAt(1_045);
    expect(done.slice(2)).toEqual([1_030, 'tidy after rejects']);
  });

  it('stops when no lane is busy', async () => {
    const { watch } = open();
    watch(1_100);
    await ringAt(1_010);
    expect([done, cleared]).toEqual([['tidy'], 1]);
    busy = false;
    await ringAt(1_020);
    expect([done, cleared]).toEqual([['tidy', 'tidy'], 3]);
    // As after the last deadline: the next one sets a new timer.
    watch(2_000);
    expect([rings.at(-1)?.ms, rings.length]).toEqual([10, 4]);
  });

  it('keeps the process alive while calls wait for a connection', async () => {
    const { deadlines, watch } = open();
    deadlines.hold();
    watch(1_005);
    deadlines.hold();
    expect(rings.map(({ refs }) => refs)).toEqual([['ref']]);
    await ringAt(1_005);
    watch(1_050);
    expect(rings.map(({ refs }) => refs)).toEqual([['ref'], [], ['unref']]);
    deadlines.close();
    expect(cleared).toBe(3);
  });

  it('remembers the last 16 stalls for calls that began before them', async () => {
    const { deadlines, watch } = open();
    watch(1e9);
    for (let i = 1; i <= 17; i++) await ringAt(1_000 + i * 20);
    // Each was 10 ms late.
    expect(deadlines.dueAt(1_000, 0)).toBe(1_000 - 170 + 160);
    expect(deadlines.dueAt(1_335, 0)).toBe(1_335 - 170 + 5);
    expect(deadlines.dueAt(1_340, 0)).toBe(1_340 - 170);
  });
});
