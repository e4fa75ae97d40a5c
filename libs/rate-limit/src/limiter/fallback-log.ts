import { Logger } from '@nestjs/common';
import { thrownText } from '../../../internal/src';
import type { RedisErrorPolicy } from '../rules/rule';

/** Number of failures in a row after which the fallback is logged. A single late reply is not logged. */
const FAILURES = 2;
/**
 * Time without a failure that must pass before a reply of Redis ends the fallback, ms. So if failures alternate with replies,
 * only one fallback is logged.
 */
const QUIET_MS = 1_000;

const EFFECTS: Readonly<Record<RedisErrorPolicy, string>> = {
  local: 'this process counts by itself, so each process allows the whole limit',
  allow: 'all requests are allowed',
  deny: 'all requests are refused',
};

/** Logs a warning when this process begins to decide rate limits without Redis, and a message when Redis decides them again. */
export class FallbackLog {
  private readonly logger = new Logger('RateLimit');
  private failures = 0;
  private active = false;
  private lastFailureMs = 0;

  /** @param now monotonic clock, ms */
  constructor(private readonly now: () => number) {}

  /** Notes a request that Redis did not decide. */
  failed(policy: RedisErrorPolicy, error: unknown): void {
    this.failures += 1;
    this.lastFailureMs = this.now();
    if (this.active || this.failures < FAILURES) return;
    this.active = true;
    this.logger.warn(
      `Redis does not decide the rate limits now. Until it does, ${EFFECTS[policy]} (onRedisError: '${policy}'). ${thrownText(error)}`,
    );
  }

  /** Notes a request that Redis decided. */
  succeeded(): void {
    if (this.failures === 0 || (this.active && this.now() - this.lastFailureMs < QUIET_MS)) return;
    this.failures = 0;
    if (!this.active) return;
    this.active = false;
    this.logger.log('Redis decides the rate limits again.');
  }
}
