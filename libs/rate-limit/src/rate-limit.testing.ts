import { Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Checks } from '../../internal/src';
import { MemoryLimiter } from './limiter/memory-limiter';
import { ResilientLimiter } from './limiter/resilient-limiter';
import { commonProviders, EXPORTS, type RateLimitModuleExtras } from './rate-limit.module';
import { RATE_LIMIT_OPTIONS, resolveOptions, type RateLimitModuleOptions } from './rate-limit.options';

/** Clock for tests: stands still until the test calls `advance`. */
export class RateLimitTestClock {
  /** @param now start, ms since 1970. Default: the start of 2026, UTC */
  constructor(private now = Date.UTC(2026, 0, 1)) {}

  /** Present time of this clock, ms since 1970. */
  get nowMs(): number {
    return this.now;
  }

  /** Moves the clock forward. @param ms duration, ms, at least 0 @throws RangeError for a negative duration or NaN */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`RateLimitTestClock: ms is ${ms}. Expected a number of at least 0.`);
    this.now += ms;
  }
}

/** Options of RateLimitTestingModule: the options of RateLimitModule, its `interceptor`, and a clock. */
export interface RateLimitTestingModuleOptions
  extends RateLimitModuleOptions, Pick<RateLimitModuleExtras, 'interceptor'> {
  /** Clock of the rules. Default: a new clock. In both cases the app can inject it as RateLimitTestClock. */
  readonly clock?: RateLimitTestClock;
}

/** Most pairs of rule and subject (the counted client or user) that are counted; the least recently used is evicted first. */
const MAX_SUBJECTS = 1_000_000;
const checks = new Checks('RateLimitTestingModule');

/**
 * RateLimitModule for tests: the same guard, decorators and service, without Redis.
 *
 * The module counts in memory, with the arithmetic of the Lua scripts: this lib's tests compare the scripts with it.
 */
@Module({})
export class RateLimitTestingModule {
  /**
   * Makes the module for a test, where it replaces `RateLimitModule.forRoot`. An option `registry` is ignored.
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
