import { Logger } from '@nestjs/common';
import { thrownText } from '../../../internal/src';
import type { RedisErrorPolicy } from '../rules/rule';

/** Number of failures in a row before a line is logged, because a single late reply may be harmless. */
const FAILURES = 2;
/**
 * Redis counts as working again when this time has passed without a failure, ms. So failures that alternate with replies are logged once.
 */
const QUIET_MS = 1_000;

const EFFECTS: Readonly<Record<RedisErrorPolicy, string>> = {
  local: 'this process counts in its own memory, so each process allows the whole limit',
  allow: 'this process allows all requests',
  deny: 'this process refuses all requests',
};

/** Logs when this process begins to decide rate limits without Redis, and when Redis decides them again. */
export class FallbackLog {
  private readonly logger = new Logger('RateLimit');
  /** Failures since Redis last worked. If there are none, callers need not call `succeeded`. */
  failures = 0;
  private active = false;
  private lastFailureMs = 0;

  /** @param now monotonic clock, ms */
  constructor(private readonly now: () => number) {}

  /** Called for each request that was decided without Redis. */
  failed(policy: RedisErrorPolicy, error: unknown): void {
    this.failures += 1;
    this.lastFailureMs = this.now();
    if (this.active || this.failures < FAILURES) return;
    this.active = true;
    this.logger.warn(
      `Calls to Redis fail, so ${EFFECTS[policy]} (onRedisError: '${policy}'). This ends when Redis replies again. The last error: ` +
        thrownText(error),
    );
  }

  /** Called for each request that Redis has decided, unless `failures` is 0. */
  succeeded(): void {
    if (this.failures === 0 || (this.active && this.now() - this.lastFailureMs < QUIET_MS)) return;
    this.failures = 0;
    if (!this.active) return;
    this.active = false;
    this.logger.log('Redis replies again, so the rate limits are counted in Redis again.');
  }
}
