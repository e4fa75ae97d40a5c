import type { ResolvedResponseOptions } from './responses.options';
import type { RateLimitDecision, RateLimitPolicy, RateLimitRuleDecision } from '../rate-limit.types';
import type { ExecutionContext } from '@nestjs/common';

const seconds = (ms: number): number => Math.ceil(ms / 1_000);

/** Returns a name in quotation marks for a header: as a String of RFC 9651 (Structured Fields), with ASCII characters only. */
function quoted(name: string): string {
  // The flag `u` keeps surrogate pairs together. encodeURIComponent throws for half of one.
  const printable = name.toWellFormed().replace(/[^\x20-\x7e]/gu, (char) => encodeURIComponent(char));
  return `"${printable.replace(/["\\]/g, '\\$&')}"`;
}

/** Returns true if rule `a` is closer to a refusal than rule `b`, or if both refuse and `a` refuses for longer. */
function isTighter(a: RateLimitRuleDecision, b: RateLimitRuleDecision): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  return a.remaining * Math.max(1, b.limit) < b.remaining * Math.max(1, a.limit);
}

/** Returns the time in which a rule allows `capacity` hits, s: its window, or the time in which a token bucket refills. */
function periodOf(limit: number, windowMs: number, capacity: number): number {
  return seconds(limit === 0 ? windowMs : (windowMs * capacity) / limit);
}

/** Returns an item of the header `RateLimit-Policy`. */
function policyText({ name, limit, windowMs, capacity }: RateLimitPolicy): string {
  return `${quoted(name)};q=${capacity};w=${periodOf(limit, windowMs, capacity)}`;
}

/** Header texts of a rule. Most requests need the same ones, so they are cached. */
interface PolicyTexts {
  readonly limit: number;
  readonly windowMs: number;
  readonly capacity: number;
  /** Name of the rule in quotation marks. */
  readonly name: string;
  /** Item of the header `RateLimit-Policy`. */
  readonly policy: string;
}

export class HttpResponses {
  /** Header texts by the name of the rule. The guard has a fixed number of rules, so nothing is deleted. */
  private readonly texts = new Map<string, PolicyTexts>();

  constructor(private readonly options: ResolvedResponseOptions) {}

  /** Returns the headers of the response to an allowed or refused request, by default without shadow rules. */
  headers(decision: RateLimitDecision): Readonly<Record<string, string>> {
    const { headers } = this.options;
    if (headers === false) return NO_HEADERS;
    return headers === true ? this.allHeaders(decision) : headers(decision, this.allHeaders(decision));
  }

  private allHeaders(decision: RateLimitDecision): Record<string, string> {
    const headers: Record<string, string> = {};
    let tightest: RateLimitRuleDecision | undefined;
    let limits = '';
    for (const rule of decision.rules) {
      if (rule.shadow) continue;
      if (tightest === undefined || isTighter(rule, tightest)) tightest = rule;
      const next = rule.nextMs === Infinity ? '' : `;t=${seconds(rule.nextMs)}`;
      limits += `${limits === '' ? '' : ', '}${this.textsOf(rule).name};r=${rule.remaining}${next}`;
    }
    if (tightest) {
      headers['X-RateLimit-Limit'] = String(tightest.capacity);
      headers['X-RateLimit-Remaining'] = String(tightest.remaining);
      if (tightest.nextMs !== Infinity) headers['X-RateLimit-Reset'] = String(seconds(tightest.nextMs));
    }
    let policies = '';
    for (const policy of decision.policies) {
      policies += `${policies === '' ? '' : ', '}${this.textsOf(policy).policy}`;
    }
    if (policies !== '') {
      headers['RateLimit-Policy'] = policies;
      if (limits !== '') headers['RateLimit'] = limits;
    }
    if (!decision.allowed && decision.retryAfterMs !== Infinity) {
      headers['Retry-After'] = String(Math.max(1, seconds(decision.retryAfterMs)));
    }
    return headers;
  }

  private textsOf(policy: RateLimitPolicy): PolicyTexts {
    const { name, limit, windowMs, capacity } = policy;
    const known = this.texts.get(name);
    if (known?.limit === limit && known.windowMs === windowMs && known.capacity === capacity) return known;
    const texts = { limit, windowMs, capacity, name: quoted(name), policy: policyText(policy) };
    this.texts.set(name, texts);
    return texts;
  }

  /** Returns the status and the body for a refusal. `problem` is true if the body is RFC 9457 problem details. */
  refusal(decision: RateLimitDecision, context: ExecutionContext): { status: number; body: object; problem: boolean } {
    const unavailable = decision.reason === 'redis-error';
    const status = unavailable ? 503 : 429;
    const { problem } = this.options;
    if (typeof problem === 'function') return { status, body: problem(decision, context), problem: false };
    if (!problem) {
      return {
        status,
        body: { statusCode: status, message: unavailable ? 'Unavailable' : 'Too Many Requests' },
        problem,
      };
    }
    return { status, problem, body: unavailable ? UNAVAILABLE : exceeded(decision) };
  }
}

const NO_HEADERS = Object.freeze({});

const UNAVAILABLE = Object.freeze({
  type: 'about:blank',
  title: 'Service Unavailable',
  status: 503,
  detail: 'The rate limit of this resource cannot be checked at the moment. Send the request again later.',
});

/**
 * Returns the RFC 9457 problem details for a refusal with 429.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
function exceeded({ retryAfterMs, rules }: RateLimitDecision): object {
  const never = rules.find((rule) => !rule.shadow && rule.retryAfterMs === Infinity);
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: never
      ? `This request can never be allowed, so do not repeat it: it counts as ${never.cost} hits, and at most ${never.capacity} hits are allowed at once.`
      : `Try again in ${Math.max(1, seconds(retryAfterMs))} s.`,
    'violated-policies': rules.filter(({ allowed, shadow }) => !allowed && !shadow).map(({ name }) => name),
  };
}
