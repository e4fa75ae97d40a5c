import { LostError } from 'luanest/script-registry';
import type * as timers from 'node:timers';
import { Test } from '@nestjs/testing';
import { LockModule, LockService } from 'luanest/lock';
import { LuanestTesting, LuanestTestingModule } from 'luanest/testing';
import { DateTime, Settings } from 'luxon';
import { replaceTime, time } from '../../internal/src';
import { LONG } from '../../../test/support/size';
import { TEST_CLOCK_START_MS, TestClock } from '../src/clock/test-clock';
import { MemoryRedis } from '../../memory-redis/src';

const { setImmediate: immediately } = globalThis;
const nextTurn = (): Promise<void> => new Promise((resolve) => void immediately(resolve));

afterEach(() => TestClock.installed?.uninstall());

describe('the time of the libs', () => {
  it('settles for two callers at the same time', async () => {
    const clock = new TestClock().install();
    let ran = 0;
    void nextTurn().then(() => nextTurn().then(() => ran++));
    await Promise.all([clock.settle().then(() => expect(ran).toBe(1)), clock.settle(), clock.advance(10)]);
    expect(ran).toBe(1);
  });

  it('stands still from 2026-01-01T00:00:00Z, or from nowMs', async () => {
    const clock = new TestClock().install();
    const [wall, elapsed] = [time.nowMs(), time.monotonicMs()];
    expect([wall, clock.nowMs, TEST_CLOCK_START_MS]).toEqual(Array(3).fill(Date.parse('2026-01-01T00:00:00Z')));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect([time.nowMs(), time.monotonicMs()]).toEqual([wall, elapsed]);
    expect(new TestClock({ nowMs: 7 }).nowMs).toBe(7);
    for (const nowMs of [-1, 0.5, NaN, Infinity]) {
      expect(() => new TestClock({ nowMs })).toThrow(
        `TestClock: nowMs is ${nowMs}. Expected an integer from 0 to 2^53 - 1 ms.`,
      );
    }
  });

  it('is moved by advance and set', async () => {
    const clock = new TestClock().install();
    const elapsed = time.monotonicMs();
    await clock.advance(1_500);
    expect([time.nowMs() - TEST_CLOCK_START_MS, time.monotonicMs() - elapsed]).toEqual([1_500, 1_500]);
    await clock.set(TEST_CLOCK_START_MS + 2_000);
    expect([time.nowMs() - TEST_CLOCK_START_MS, time.monotonicMs() - elapsed]).toEqual([2_000, 2_000]);
    await clock.set(TEST_CLOCK_START_MS - 86_400_000);
    expect([time.nowMs() - TEST_CLOCK_START_MS, time.monotonicMs() - elapsed]).toEqual([-86_400_000, 2_000]);
    expect(() => clock.advance(-1)).toThrow('TestClock: ms is -1. Expected an integer from 0 to 2^53 - 1 ms.');
    expect(() => clock.set(NaN)).toThrow('TestClock: atMs is NaN.');
  });

  it('runs from timer to timer, of which short ones are late by up to a minute', async () => {
    const clock = new TestClock().install();
    const start = clock.nowMs;
    const fired: [string, number][] = [];
    const note = (name: string) => () => void fired.push([name, clock.nowMs - start]);
    time.setTimer(() => {
      note('long')();
      time.setTimer(note('short'), 10);
    }, 90_000);
    time.setTimer(note('beyond'), 200_001);
    await clock.run(200_000);
    expect(fired).toEqual([
      ['long', 90_000],
      ['short', 150_000],
    ]);
    expect(clock.nowMs - start).toBe(200_000);
    await clock.run(0);
    await clock.run(1);
    expect(fired.at(-1)).toEqual(['beyond', 200_001]);
    expect(() => clock.run(-1)).toThrow('TestClock: ms is -1. Expected an integer from 0 to 2^53 - 1 ms.');
  });

  it('is real again after uninstall, which leaves no timers', async () => {
    const clock = new TestClock().install();
    const fired = jest.fn();
    time.setTimer(fired, 10);
    time.setRepeatingTimer(fired, 10);
    time.setTimeLimit(fired, 10);
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    clock.uninstall();
    clock.uninstall();
    expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')).toHaveLength(before - 1);
    await clock.advance(100);
    expect(fired).not.toHaveBeenCalled();
    expect(Math.abs(time.nowMs() - Date.now())).toBeLessThan(10_000);
    expect(Math.abs(time.monotonicMs() - performance.now())).toBeLessThan(10_000);
  });

  it('is that of one clock at a time', () => {
    const clock = new TestClock().install();
    expect(clock.install()).toBe(clock);
    expect(TestClock.installed).toBe(clock);
    expect(() => new TestClock().install()).toThrow('Another TestClock is installed in this process.');
    expect(() => replaceTime(time)).toThrow(
      'Another test clock is installed in this process. Uninstall that clock first.',
    );
    clock.uninstall();
    expect(TestClock.installed).toBeUndefined();
    new TestClock().install();
  });

  it('takes timers back that were set by real time', async () => {
    const fired = jest.fn();
    const timer = time.setTimer(fired, 5);
    new TestClock().install();
    time.clearTimer(timer);
    time.clearTimer(undefined);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(fired).not.toHaveBeenCalled();
  });
});

describe('timers', () => {
  it('fire once each, in order of due time, at the time to which the clock has jumped', async () => {
    const clock = new TestClock().install();
    const fired: string[] = [];
    const note = (name: string) => (): void => void fired.push(`${name} ${clock.nowMs - TEST_CLOCK_START_MS}`);
    time.setTimer(note('late'), 300);
    time.setTimer(() => {
      note('early')();
      time.setTimer(note('next'), 0);
      time.setTimer(note('later'), 1);
      time.clearTimer(cleared);
    }, 100);
    const cleared = time.setTimer(note('cleared'), 200);
    time.setRepeatingTimer(note('repeating'), 90);
    await clock.advance(300);
    expect(fired).toEqual(['repeating 300', 'early 300', 'late 300', 'next 300']);
    await clock.advance(1);
    expect(fired.splice(0).at(-1)).toBe('later 301');
    await clock.advance(88);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(['repeating 390']);
  });

  it('fire after all that the one before has resolved', async () => {
    const clock = new TestClock().install();
    const fired: string[] = [];
    const steps = async (): Promise<void> => {
      for (let step = 0; step < 20; step++) await Promise.resolve();
      fired.push('steps of the first');
    };
    time.setTimer(() => void steps(), 10);
    time.setTimer(() => fired.push('second'), 10);
    await clock.advance(10);
    expect(fired).toEqual(['steps of the first', 'second']);
  });

  it('of 0 ms fire although the clock stands still', async () => {
    const clock = new TestClock().install();
    const fired = jest.fn();
    time.setTimer(fired, 0);
    await clock.settle();
    expect(fired).toHaveBeenCalledTimes(1);
  });

  it('that limit a wait for something else also fire by real time', async () => {
    const clock = new TestClock().install();
    await new Promise<void>((resolve) => time.setTimeLimit(resolve, 5));
    let ended = false;
    time.setTimeLimit(() => (ended = true), 60_000);
    await clock.advance(60_000);
    expect(ended).toBe(true);
  });

  it('reject advance with the error of their callback', async () => {
    const clock = new TestClock().install();
    time.setTimer(() => {
      throw new Error('broken');
    }, 10);
    await expect(clock.advance(10)).rejects.toThrow('broken');
    await expect(clock.advance(10)).resolves.toBeUndefined();
  });

  it('are passed one by one by until', async () => {
    const clock = new TestClock().install();
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => time.setTimer(resolve, ms));
    await clock.until(sleep(1_000).then(() => sleep(5_000)));
    expect(clock.nowMs - TEST_CLOCK_START_MS).toBe(6_000);
    await expect(clock.until(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(clock.until(new Promise(() => undefined))).rejects.toThrow('no timer is left');
  });

  (LONG ? it : it.skip)(
    'end `until` after 10,000 of them',
    async () => {
      const clock = new TestClock().install();
      time.setRepeatingTimer(() => undefined, 1);
      await expect(clock.until(new Promise(() => undefined))).rejects.toThrow('not ended after 10000 jumps');
      // 10,000 jumps take long on a busy machine.
    },
    300_000,
  );
});

describe('settle', () => {
  it('waits for all commands, and for what follows from their replies', async () => {
    const clock = new TestClock().install();
    const client = new MemoryRedis({ clock }).client();
    let count = 0;
    const work = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) {
        count = await client.incr('n');
        await nextTurn();
      }
    };
    void work();
    await clock.settle();
    expect(count).toBe(20);
    client.disconnect();
  });

  it('lets what has begun end before the time jumps', async () => {
    const clock = new TestClock().install();
    const client = new MemoryRedis({ clock }).client();
    const set = client.set('a', '1', 'PX', 100);
    const first = clock.advance(99);
    const second = clock.advance(1);
    await Promise.all([set, first]);
    await second;
    await expect(client.get('a')).resolves.toBeNull();
    client.disconnect();
  });
});

describe('fake timers of Jest', () => {
  afterEach(() => jest.useRealTimers());

  it.each([{ doNotFake: ['nextTick'] as const }, { doNotFake: ['nextTick', 'queueMicrotask'] as const }])(
    '%j change nothing',
    async (options) => {
      const clock = new TestClock().install();
      jest.useFakeTimers({ ...options, doNotFake: [...(options.doNotFake ?? [])], now: clock.nowMs });
      const memory = new MemoryRedis({ clock });
      const client = memory.client();
      const fired = jest.fn();
      time.setTimer(fired, 60_000);
      await expect(client.set('a', '1', 'PX', 60_000)).resolves.toBe('OK');
      await clock.advance(60_000);
      expect(fired).toHaveBeenCalledTimes(1);
      await expect(client.get('a')).resolves.toBeNull();
      expect([Date.now() - TEST_CLOCK_START_MS, clock.nowMs - TEST_CLOCK_START_MS]).toEqual([0, 60_000]);
      client.disconnect();
    },
  );
});

// As sinon does when it runs outside Jest: it replaces the functions of these modules, too.
it('fake timers that replace the functions of node:timers change nothing', async () => {
  const modules = [jest.requireActual<object>('node:timers'), jest.requireActual<object>('node:timers/promises')];
  const never = (): Promise<never> => new Promise(() => undefined);
  const spies = modules.flatMap((module) =>
    (['setImmediate', 'setTimeout'] as const).map((name) =>
      jest.spyOn(module as typeof timers, name).mockImplementation(never as never),
    ),
  );
  try {
    const app = await Test.createTestingModule({
      imports: [LuanestTestingModule.forRoot(), LockModule.forRoot({ drainMs: 0, abortGraceMs: 0 })],
    }).compile();
    await app.init();
    const { faults } = app.get(LuanestTesting);
    const held = app.get(LockService).withLock('a', {}, () => new Promise(() => undefined));
    const lost = expect(held).rejects.toBeInstanceOf(LostError);
    await nextTurn();
    await faults.redisDown();
    await faults.redisUp();
    await app.close();
    await lost;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});

it('gives luxon its time, if the test wants that', async () => {
  const clock = new TestClock({ nowMs: Date.UTC(2026, 2, 29, 0, 30) }).install();
  const { now } = Settings;
  Settings.now = () => clock.nowMs;
  try {
    expect(DateTime.now().setZone('Europe/Berlin').toISO()).toBe('2026-03-29T01:30:00.000+01:00');
    await clock.advance(3_600_000);
    expect(DateTime.now().setZone('Europe/Berlin').toISO()).toBe('2026-03-29T03:30:00.000+02:00');
  } finally {
    Settings.now = now;
  }
});
