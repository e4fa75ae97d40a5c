import type { ResolvedResponseOptions } from './responses.options';
import type { RateLimitDecision, RateLimitPolicy, RateLimitRuleDecision } from '../rate-limit.types';
import type { ExecutionContext } from '@nestjs/common';

const seconds = (ms: number): number => Math.ceil(ms / 1_000);

/** A string of RFC 9651: printable ASCII, quoted. */
function quoted(name: string): string {
  // By code points: half of a pair of surrogates cannot be encoded.
  const printable = name.toWellFormed().replace(/[^\x20-\x7e]/gu, (char) => encodeURIComponent(char));
  return `"${printable.replace(/["\\]/g, '\\$&')}"`;
}

/** Whether `a` stands nearer to a refusal than `b`, or refuses for longer. */
function isTighter(a: RateLimitRuleDecision, b: RateLimitRuleDecision): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  return a.remaining * Math.max(1, b.limit) < b.remaining * Math.max(1, a.limit);
}

/** A rule's name and policy, as headers spell them. */
interface PolicyText {
  readonly name: string;
  readonly policy: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly capacity: number;
}

/** Seconds in which as many hits come back as pass at once, which is another rate's window where a bucket has a burst. */
function periodOf(limit: number, windowMs: number, capacity: number): number {
  return seconds(limit === 0 ? windowMs : (windowMs * capacity) / limit);
}

/** Writes headers and bodies of decisions. */
export class HttpResponses {
  /** By rule: what is the same for most of its requests. */
  private readonly texts = new Map<string, PolicyText>();

  constructor(private readonly options: ResolvedResponseOptions) {}

  /** Headers of an answer, allowed or refused; none where no rule but shadow rules said anything. */
  headers(decision: RateLimitDecision): Readonly<Record<string, string>> {
    const { legacy, draft, retryAfter, headers } = this.options;
    if (headers) return headers(decision);
    const answer: Record<string, string> = {};
    let tightest: RateLimitRuleDecision | undefined;
    let [policies, limits] = ['', ''];
    for (const rule of decision.rules) {
      if (rule.shadow) continue;
      if (tightest === undefined || isTighter(rule, tightest)) tightest = rule;
      if (!draft) continue;
      const { name } = this.textOf(rule);
      const next = rule.nextMs === Infinity ? '' : `;t=${seconds(rule.nextMs)}`;
      limits += `${limits === '' ? '' : ', '}${name};r=${rule.remaining}${next}`;
    }
    if (draft) policies = decision.policies.map((rule) => this.textOf(rule).policy).join(', ');
    if (legacy && tightest) {
      answer['X-RateLimit-Limit'] = String(tightest.capacity);
      answer['X-RateLimit-Remaining'] = String(tightest.remaining);
      if (tightest.nextMs !== Infinity) answer['X-RateLimit-Reset'] = String(seconds(tightest.nextMs));
    }
    if (policies !== '') {
      answer['RateLimit-Policy'] = policies;
      if (limits !== '') answer['RateLimit'] = limits;
    }
    if (retryAfter && !decision.allowed && decision.retryAfterMs !== Infinity) {
      answer['Retry-After'] = String(Math.max(1, seconds(decision.retryAfterMs)));
    }
    return answer;
  }

  /** Status and body of a refusal. */
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

  private textOf({ name, limit, windowMs, capacity }: RateLimitPolicy): PolicyText {
    const known = this.texts.get(name);
    if (known?.limit === limit && known.windowMs === windowMs && known.capacity === capacity) return known;
    const text = {
      name: quoted(name),
      policy: `${quoted(name)};q=${capacity};w=${periodOf(limit, windowMs, capacity)}`,
      limit,
      windowMs,
      capacity,
    };
    this.texts.set(name, text);
    return text;
  }
}

const UNAVAILABLE = Object.freeze({
  type: 'about:blank',
  title: 'Service Unavailable',
  status: 503,
  detail: 'The rate limit of this resource cannot be checked at the moment.',
});

/** @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ */
function exceeded({ retryAfterMs, rules }: RateLimitDecision): object {
  const never = rules.find((rule) => !rule.shadow && rule.retryAfterMs === Infinity);
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: never
      ? `This request can never pass: it costs ${never.cost}, and the limit is ${never.capacity}.`
      : `Try again in ${Math.max(1, seconds(retryAfterMs))} s.`,
    'violated-policies': rules.filter(({ allowed, shadow }) => !allowed && !shadow).map(({ name }) => name),
  };
}
