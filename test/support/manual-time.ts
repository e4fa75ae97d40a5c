import { replaceTime } from '../../libs/internal/src';

interface ManualTimer {
  readonly callback: () => void;
  readonly ms: number;
  readonly repeats: boolean;
  dueAt: number;
  keepsProcess: boolean;
}

/** Lets all that waits for no timer happen. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Time of the libs that stands still until a test lets it pass. Installs itself for each test of the block. */
export class ManualTime {
  now = 0;
  private timers: ManualTimer[] = [];

  constructor() {
    let restore: (() => void) | undefined;
    beforeEach(() => {
      this.now = 1_000;
      this.timers = [];
      restore = replaceTime({
        nowMs: () => this.now,
        monotonicMs: () => this.now,
        measuredAt: (monotonicMs) => monotonicMs,
        setTimer: (callback, ms) => this.add(callback, ms),
        setRepeatingTimer: (callback, ms) => this.add(callback, ms, true),
        setTimeLimit: (callback, ms) => this.add(callback, ms),
        clearTimer: (timer) => {
          this.timers = this.timers.filter((one) => one !== (timer as unknown));
          // Some waits of the libs also have timers of the real time.
          if (typeof timer === 'object' && 'hasRef' in timer) clearTimeout(timer as NodeJS.Timeout);
        },
      });
    });
    afterEach(() => restore?.());
  }

  /** Lengths of the timers that run, ms. */
  get running(): readonly number[] {
    return this.timers.map(({ ms }) => ms);
  }

  /** True if a timer keeps the process from its end. */
  get keepsProcess(): boolean {
    return this.timers.some(({ keepsProcess }) => keepsProcess);
  }

  /** Lets time pass, and all that happens meanwhile. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    await turn();
    for (;;) {
      const next = this.timers.filter(({ dueAt }) => dueAt <= end).sort((a, b) => a.dueAt - b.dueAt)[0];
      if (!next) break;
      this.now = Math.max(this.now, next.dueAt);
      if (next.repeats) next.dueAt += next.ms;
      else this.timers = this.timers.filter((one) => one !== next);
      next.callback();
      await turn();
    }
    this.now = end;
  }

  private add(callback: () => void, ms: number, repeats = false) {
    const timer = {
      callback,
      ms,
      repeats,
      dueAt: this.now + ms,
      keepsProcess: true,
      unref: () => void (timer.keepsProcess = false),
    };
    this.timers.push(timer);
    return timer;
  }
}
