import { RateLimitService, type RateLimitDecision } from 'luanest/rate-limit';
import { RedisLimiter } from '../../../libs/rate-limit/src/limiter/redis-limiter';
import { ResilientLimiter } from '../../../libs/rate-limit/src/limiter/resilient-limiter';
import { resolveOptions } from '../../../libs/rate-limit/src/rate-limit.options';
import { rateLimitScripts } from '../../../libs/rate-limit/src/rate-limit.scripts';
import {
  ANY_WINDOW,
  LimiterModel,
  type ConsumeInput,
  type LimiterInput,
  type LimiterOperation,
  type LimiterOutput,
} from '../models/limiter';
import { UnknownResult, type Session, type Step } from '../record/client';
import type { Recorded } from '../record/journal';
import { below, choose, type Random } from '../record/random';
import {
  earlierSendings,
  operationOf,
  SLACK_MS,
  type Bench,
  type BenchContext,
  type HistoryPlan,
  type Subject,
} from './subject';

/** `long`: no window ends. `short`: windows end within the history. */
const FLAVOURS = ['long', 'short'] as const;
const SHORT_MS = 150;
const LIMIT = 8;
const RULES = {
  long: { name: 'long', limit: LIMIT, windowMs: 600_000 },
  short: { name: 'short', limit: LIMIT, windowMs: SHORT_MS },
};

interface Charged {
  readonly id: string;
  readonly cost: number;
  readonly decision: RateLimitDecision;
}

class LimiterSession implements Session {
  private readonly charged: Charged[] = [];

  constructor(
    private readonly limits: RateLimitService,
    private readonly plan: HistoryPlan,
    private readonly random: Random,
  ) {}

  next(): Step {
    // A refund that is sent twice may take hits of other requests, as README.md says.
    const refunds = this.charged.length > 0 && !this.plan.resend ? 3 : 0;
    const kind = choose(this.random, [
      [10, 'consume'],
      [3, 'peek'],
      [refunds, 'refund'],
      [1.2, 'reset'],
    ]);
    if (kind === 'reset') return this.reset();
    if (kind === 'refund') return this.refund(this.charged.pop() as Charged);
    return this.ask(kind, 1 + below(this.random, 3));
  }

  private ask(op: 'consume' | 'peek', cost: number): Step {
    const { limits, plan } = this;
    const call = async (id: string): Promise<LimiterOutput> => {
      const decision = await limits[op](ruleOf(plan), plan.key, { cost });
      if (op === 'consume' && decision.allowed) this.charged.push({ id, cost, decision });
      return outputOf(decision);
    };
    return { input: { op, cost } satisfies LimiterInput, call };
  }

  private refund({ id: of, cost, decision }: Charged): Step {
    const call = async (): Promise<LimiterOutput> => ({ refunded: await this.limits.refund(decision) });
    return { input: { op: 'refund', of, cost } satisfies LimiterInput, call };
  }

  private reset(): Step {
    const { key } = this.plan;
    const call = async (): Promise<LimiterOutput> => ({ reset: await this.limits.reset(ruleOf(this.plan), key) });
    return { input: { op: 'reset' } satisfies LimiterInput, call };
  }
}

function ruleOf({ flavour }: HistoryPlan): (typeof RULES)['long'] {
  return flavour === 'short' ? RULES.short : RULES.long;
}

/** @throws UnknownResult if Redis failed: then the hits may have been counted */
function outputOf({ allowed, source, rules: [rule] }: RateLimitDecision): LimiterOutput {
  if (source !== 'redis' || rule === undefined) throw new UnknownResult(`The source of the decision is ${source}.`);
  return { allowed, used: rule.used };
}

function open({ connection }: BenchContext): Bench {
  const options = resolveOptions({ onRedisError: 'deny', deadlineMs: 250 });
  // Cached refusals and an open breaker are decisions without Redis.
  const settings = { failures: Infinity, cachedRefusals: 0 };
  const limiter = new ResilientLimiter(new RedisLimiter(connection.registry), options, settings);
  const limits = new RateLimitService(limiter, options.rules);
  return {
    session: (plan, random) => new LimiterSession(limits, plan, random),
    last: (plan) => [
      {
        input: { op: 'peek', cost: 1 } satisfies LimiterInput,
        call: async () => outputOf(await limits.peek(ruleOf(plan), plan.key, { cost: 1 })),
      },
    ],
  };
}

function operations(plan: HistoryPlan, recorded: readonly Recorded[]): LimiterOperation[] {
  const refunded = new Set(recorded.map(({ input }) => (input as LimiterInput & { of?: string }).of));
  return recorded.flatMap((one): LimiterOperation[] => {
    const operation = operationOf<LimiterOperation>(one, ({ op }) => op === 'peek');
    if (operation === undefined) return [];
    if (operation.input.op === 'peek') return [operation];
    if (operation.input.op === 'consume') return consumeOf(plan, operation, one, refunded.has(one.id));
    const repeats = earlierSendings(plan, operation, one);
    if (operation.input.op === 'refund') return [{ ...operation, input: timed(plan, operation, recorded) }, ...repeats];
    return [operation, ...repeats];
  });
}

function consumeOf(
  plan: HistoryPlan,
  operation: LimiterOperation,
  recorded: Recorded,
  refunded: boolean,
): LimiterOperation[] {
  const { cost } = operation.input as ConsumeInput;
  const isUnknown = operation.output === undefined;
  const input: ConsumeInput = { op: 'consume', cost, refunded, ...(isUnknown && { window: ANY_WINDOW }) };
  const repeated: ConsumeInput = isUnknown ? input : { op: 'consume', cost };
  const repeats = earlierSendings(plan, { ...operation, input: repeated }, recorded);
  const all = [{ ...operation, input }, ...repeats];
  if (isUnknown || plan.flavour !== 'short') return all;
  const begins = operation.output?.allowed === false ? repeats : all;
  return [...all, ...begins.map(endOf)];
}

/** Two round trips that take as long as a window refund nothing, as README.md says. */
function timed(plan: HistoryPlan, refund: LimiterOperation, recorded: readonly Recorded[]): LimiterInput {
  const input = refund.input as LimiterInput & { op: 'refund' };
  const charge = recorded.find(({ id }) => id === input.of);
  const tookMs = refund.return - refund.call + ((charge?.end?.at ?? Infinity) - (charge?.call ?? 0));
  return { ...input, isSlow: plan.flavour === 'short' && tookMs >= SHORT_MS - 3 * SLACK_MS };
}

/** The end of the window that began with an operation, by Redis' clock. */
function endOf({ id, call, return: end }: LimiterOperation): LimiterOperation {
  return {
    id: `${id}/end`,
    call: call + SHORT_MS - SLACK_MS,
    return: end + SHORT_MS + SLACK_MS,
    input: { op: 'end', of: id },
    output: {},
  };
}

export const limiter: Subject = {
  name: 'limiter',
  flavours: FLAVOURS,
  scripts: rateLimitScripts,
  open,
  operations,
  model: ({ flavour }) => new LimiterModel(LIMIT, flavour === 'short'),
};
