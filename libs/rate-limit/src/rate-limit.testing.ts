import { Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Checks } from '../../internal/src';
import { MemoryLimiter } from './limiter/memory-limiter';
import { edgeProviders, EXPORTS, type RateLimitModuleExtras } from './rate-limit.module';
import { resolveOptions, type RateLimitModuleOptions } from './rate-limit.options';
import { RateLimitService } from './rate-limit.service';
import { RATE_LIMIT_OPTIONS } from './rate-limit.tokens';

/** A clock that a test sets. */
export class RateLimitTestClock {
  /** @param nowMs Unix time, ms. Default the start of 2026, UTC */
  constructor(private nowMs = Date.UTC(2026, 0, 1)) {}

  /** Unix time, ms. */
  get now(): number {
    return this.nowMs;
  }

  /** Lets time pass. @param ms at least 0 */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`Cannot advance by ${ms} ms. Give a number of at least 0.`);
    this.nowMs += ms;
  }
}

/** Options of RateLimitTestingModule: those of RateLimitModule, and a clock. */
export interface RateLimitTestingModuleOptions extends RateLimitModuleOptions, Pick<RateLimitModuleExtras, 'interceptor'> {
  /** Default: a clock of its own, which the app gives as RateLimitTestClock. */
  readonly clock?: RateLimitTestClock;
}

const MAX_SUBJECTS = 1_000_000;
const checks = new Checks('RateLimitTestingModule');

/**
 * RateLimitModule for tests: guard, decorators and service as in production, and no Redis.
 *
 * It counts by the model that the scripts are tested against, so decisions are the same to the last hit.
 */
@Module({})
export class RateLimitTestingModule {
  /**
   * In the place of `RateLimitModule.forRoot`, with the same options and the test's clock.
   *
   * @throws InvalidOptionError as RateLimitModule does
   */
  static forRoot(options: RateLimitTestingModuleOptions = {}): DynamicModule {
    const { clock = new RateLimitTestClock(), interceptor = false, ...others } = checks.object('', options);
    // It may come with what an app gives RateLimitModule.
    const rest = Object.fromEntries(Object.entries(others).filter(([name]) => name !== 'registry'));
    const resolved = resolveOptions(rest, checks);
    const nowUs = (): number => Math.floor(clock.now * 1_000);
    const limiter = new MemoryLimiter(nowUs, MAX_SUBJECTS);
    const service = new RateLimitService(limiter, resolved, { monotonicMs: () => clock.now, wallUs: nowUs });
    return {
      module: RateLimitTestingModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        { provide: RATE_LIMIT_OPTIONS, useValue: resolved },
        { provide: RateLimitTestClock, useValue: clock },
        { provide: RateLimitService, useValue: service },
        ...edgeProviders(interceptor),
      ],
      exports: [...EXPORTS, RateLimitTestClock],
    };
  }
}
