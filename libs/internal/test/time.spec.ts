import { endsWithin, nextTurn, pause, reachedWithin, replaceTime, time, type TimeSource } from '../src';

const never = new Promise<void>(() => undefined);

describe('waits', () => {
  it('end with what they wait for, or at their limit', async () => {
    await expect(endsWithin(60_000, Promise.resolve())).resolves.toBe(true);
    await expect(endsWithin(60_000, Promise.reject(new Error('failed')))).resolves.toBe(true);
    await expect(endsWithin(1, never)).resolves.toBe(false);
    let count = 0;
    await expect(reachedWithin(60_000, () => ++count > 3)).resolves.toBe(true);
    await expect(reachedWithin(1, () => false)).resolves.toBe(false);
    await expect(reachedWithin(0, () => true)).resolves.toBe(true);
    await expect(reachedWithin(0, () => false)).resolves.toBe(false);
  });

  it('of pause end at once with its signal', async () => {
    const controller = new AbortController();
    const paused = pause(60_000, { signal: controller.signal });
    controller.abort();
    await paused;
    await pause(60_000, { signal: controller.signal });
  });

  it('leave no timers', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const { signal } = new AbortController();
    await Promise.all([endsWithin(60_000, Promise.resolve()), reachedWithin(60_000, () => true), pause(1, { signal })]);
    // Timers of an earlier spec file may end meanwhile.
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('go on while Jest fakes timers', async () => {
    jest.useFakeTimers();
    try {
      let turned = false;
      nextTurn(() => (turned = true));
      await expect(reachedWithin(60_000, () => turned)).resolves.toBe(true);
      await expect(endsWithin(1, never)).resolves.toBe(false);
      await pause(1);
      const fired = jest.fn();
      time.setTimer(fired, 1_000);
      time.clearTimer(time.setTimer(fired, 1_000));
      jest.advanceTimersByTime(1_000);
      expect(fired).toHaveBeenCalledTimes(1);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('replaceTime', () => {
  it('replaces all functions until it is undone', () => {
    const calls: string[] = [];
    const timer = { unref: () => undefined };
    const source: TimeSource = {
      nowMs: () => 1,
      monotonicMs: () => 2,
      measuredAt: () => 3,
      setTimer: () => timer,
      setRepeatingTimer: () => timer,
      setTimeLimit: () => timer,
      clearTimer: () => void calls.push('clear'),
    };
    const real = { ...time };
    const undo = replaceTime(source);
    try {
      expect([time.nowMs(), time.monotonicMs(), time.measuredAt(7)]).toEqual([1, 2, 3]);
      expect([time.setTimer(() => 0, 1), time.setRepeatingTimer(() => 0, 1), time.setTimeLimit(() => 0, 1)]).toEqual([
        timer,
        timer,
        timer,
      ]);
      time.clearTimer(timer);
      expect(calls).toEqual(['clear']);
    } finally {
      undo();
    }
    expect(time).toEqual(real);
    undo();
  });
});
