import { Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Checks } from '../../internal/src';
import { MemoryLimiter } from './limiter/memory-limiter';
import { ResilientLimiter } from './limiter/resilient-limiter';
import { commonProviders, EXPORTS, type RateLimitModuleExtras } from './rate-limit.module';
import { RATE_LIMIT_OPTIONS, resolveOptions, type RateLimitModuleOptions } from './rate-limit.options';

/** Clock that a test sets. */
export class RateLimitTestClock {
  /** @param now start, ms since 1970. Default: the start of 2026, UTC */
  constructor(private now = Date.UTC(2026, 0, 1)) {}

  /** Time, ms since 1970. */
  get nowMs(): number {
    return this.now;
  }

  /** Moves the clock forward. @param ms duration, at least 0 @throws RangeError for a negative or invalid duration */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`RateLimitTestClock: ms is ${ms}. Expected a number of at least 0.`);
    this.now += ms;
  }
}

/** Options of RateLimitTestingModule: those of RateLimitModule, and a clock. */
export interface RateLimitTestingModuleOptions
  extends RateLimitModuleOptions, Pick<RateLimitModuleExtras, 'interceptor'> {
  /** Default: a new clock, which the app can inject as RateLimitTestClock. */
  readonly clock?: RateLimitTestClock;
}

/** Subjects that are counted; the least recently used is evicted first. */
const MAX_SUBJECTS = 1_000_000;
const checks = new Checks('RateLimitTestingModule');

/**
 * RateLimitModule for tests: the same guard, decorators and service, without Redis.
 *
 * It counts in memory, by the model that the tests of the scripts compare them with.
 */
@Module({})
export class RateLimitTestingModule {
  /**
   * Replaces `RateLimitModule.forRoot` in a test; takes the same options and the test's clock. `registry` is ignored.
   *
   * @throws InvalidOptionError as RateLimitModule does
   */
  static forRoot(options: RateLimitTestingModuleOptions = {}): DynamicModule {
    const { clock = new RateLimitTestClock(), interceptor = false, ...others } = checks.object('', options);
    const rest = Object.fromEntries(Object.entries(others).filter(([name]) => name !== 'registry'));
    const resolved = resolveOptions(rest, checks);
    const nowUs = (): number => Math.floor(clock.nowMs * 1_000);
    const clocks = { monotonicMs: () => clock.nowMs, wallUs: nowUs };
    const limiter = new ResilientLimiter(new MemoryLimiter(nowUs, MAX_SUBJECTS), resolved, clocks);
    return {
      module: RateLimitTestingModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        { provide: RATE_LIMIT_OPTIONS, useValue: resolved },
        { provide: RateLimitTestClock, useValue: clock },
        { provide: ResilientLimiter, useValue: limiter },
        ...commonProviders(interceptor),
      ],
      exports: [...EXPORTS, RateLimitTestClock],
    };
  }
}
