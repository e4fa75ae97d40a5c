import { type Check, endOfCharged, type Span, type Verdict } from '../../../libs/rate-limit/src/limiter/decision';
import { RedisLimiter, verdictOfWindow, verdictsOf } from '../../../libs/rate-limit/src/limiter/redis-limiter';
import { consume, refund, type Consumed } from '../../../libs/rate-limit/src/rate-limit.scripts';
import type { RateLimitAlgorithm } from '../../../libs/rate-limit/src/rules/rule';
import type { Actors, Budgets, Move, ScriptCall, Step } from '../engine/protocol';
import { callOf, type World } from '../engine/world';

export const WINDOW_MS = 1_000;

/** Hits that a request was charged. */
export interface Charge {
  readonly atMs: number;
  readonly cost: number;
  /** End of the window that counts them, ms since 1970; for a fixed window only. */
  readonly endsAtMs: number;
  /** True after a refund, and after a reset of the counter. */
  gone: boolean;
}

export interface Request {
  phase: 'new' | 'asking' | 'again' | 'answered' | 'allowed' | 'reading' | 'read' | 'refunding' | 'over';
  /** When it sent its last call by its own clock, ms. */
  fromMs: number;
  reply?: number | readonly [number, number];
  /** Without its check, which does not change. */
  verdict?: Omit<Verdict, 'check'>;
  window?: Consumed;
  /** Identifies its charge in a refund. */
  charge?: number;
  /** Index of its hits in `charges`. */
  index?: number;
}

export interface LimitState extends Actors {
  budgets: Budgets & { reset?: number; block?: number };
  requests: Record<string, Request>;
  charges: Charge[];
}

export interface Settings {
  readonly scenario: string;
  readonly algorithm: RateLimitAlgorithm;
  readonly limit: number;
  /** Cost of each request. */
  readonly requests: Readonly<Record<string, number>>;
  readonly budgets: LimitState['budgets'];
  readonly depth: number;
}

function ruleOf({ algorithm, limit }: Settings): Check['rule'] {
  return {
    name: 'r',
    limit,
    windowMs: WINDOW_MS,
    algorithm,
    burst: undefined,
    subject: undefined,
    cost: 1,
    skip: undefined,
    count: 'failures',
    blockMs: 0,
    maxBlockMs: 0,
    shadow: false,
    onRedisError: undefined,
  };
}

function limiterCall(make: (limiter: RedisLimiter) => unknown): ScriptCall {
  return callOf((registry) => make(new RedisLimiter(registry, 1, () => 0)));
}

export type Calls = ReturnType<typeof callsOf>;

/** The calls of a request of this cost. */
export function callsOf(settings: Settings, cost: number) {
  const check: Check = { rule: ruleOf(settings), subject: 'u', limit: settings.limit, cost };
  const budget = { calledAtMs: 0, startedAtMs: 0, deadlineMs: 1_000 };
  const charging = limiterCall((limiter) => limiter.consume([check], true, budget));
  const reading = limiterCall((limiter) => limiter.consume([check], false, budget));
  const [state = ''] = reading.input.keys['keys'] as string[];
  const [text = ''] = reading.input.args['rules'] as string[];
  return {
    check,
    state,
    charging,
    /** The same decision by `consume`, which the library asks if `consume-fixed-window` found a mark. */
    slowly: { script: consume, input: { ...reading.input, args: { ...reading.input.args, charge: 1 } } },
    /** The peek that finds the present window, for a refund. */
    windows: { script: consume, input: { ...reading.input, args: { charge: 0, rules: [text, '0'] } } },
    refunding: (charge: number): ScriptCall => ({
      script: refund,
      input: { keys: { states: [state] }, args: { rules: [text, String(cost), String(charge)] } },
    }),
    reset: limiterCall((limiter) => limiter.reset(check.rule, 'u', 1_000)),
    block: limiterCall((limiter) => limiter.block(check.rule, 'u', 500, 1_000)),
  };
}

function withoutCheck({ verdict, used, resetMs, retryMs, nextMs, at }: Verdict): Omit<Verdict, 'check'> {
  return { verdict, used, resetMs, retryMs, nextMs, at };
}

/** The request is allowed: its hits count from now on. */
export function charged(state: LimitState, request: Request, decided: Verdict, cost: number, nowMs: number): void {
  const verdict = withoutCheck(decided);
  if (verdict.verdict !== 0) return void (request.phase = 'over');
  Object.assign(request, { phase: 'allowed', verdict, index: state.charges.length });
  state.charges.push({ atMs: nowMs, cost, endsAtMs: nowMs + verdict.resetMs, gone: false });
}

export function stepsOf(state: LimitState, calls: Readonly<Record<string, Calls>>): Step<LimitState>[] {
  return Object.entries(state.requests).flatMap(([actor, request]): Step<LimitState>[] => {
    const { check, charging, slowly, windows, refunding } = calls[actor] as Calls;
    const me = (next: LimitState): Request => next.requests[actor] as Request;
    const to = (next: LimitState, phase: Request['phase']): void => void (me(next).phase = phase);
    const over = (next: LimitState): void => to(next, 'over');
    const fromNow = (phase: Request['phase']) => (next: LimitState, _reply: never, world: World) =>
      void Object.assign(me(next), { phase, fromMs: world.nowMs });
    const isPlain = charging.script !== consume;
    /** `consume` reads the clock, so its reply needs no span of time. */
    const decided = (next: LimitState, reply: Consumed, world: World): void =>
      charged(next, me(next), verdictsOf([check], reply)[0] as Verdict, check.cost, world.nowMs);
    switch (request.phase) {
      case 'new':
        return [{ actor, name: 'begin', done: fromNow('asking') }];
      case 'asking': {
        const done = (next: LimitState, reply: number | readonly [number, number], world: World): void => {
          if (reply === 0) return to(next, 'again');
          me(next).reply = reply;
          to(next, 'answered');
          const verdict = verdictOfWindow(check, reply, { fromMs: 0, toMs: 0 });
          if (verdict.verdict !== 0) return;
          me(next).index = next.charges.length;
          const endsAtMs = world.nowMs + verdict.resetMs;
          next.charges.push({ atMs: world.nowMs, cost: check.cost, endsAtMs, gone: false });
        };
        if (isPlain) return [{ actor, name: 'consume', call: charging, done, lost: over }];
        return [{ actor, name: 'consume', call: charging, done: decided, lost: over }];
      }
      case 'again':
        return [{ actor, name: 'consume, after the counter had a mark', call: slowly, done: decided, lost: over }];
      case 'answered': {
        const done = (next: LimitState, _reply: never, world: World): void => {
          const span: Span = { fromMs: request.fromMs, toMs: world.nowMs };
          const verdict = withoutCheck(verdictOfWindow(check, request.reply as number, span));
          delete me(next).reply;
          Object.assign(me(next), verdict.verdict === 0 ? { phase: 'allowed', verdict } : { phase: 'over' });
        };
        return [{ actor, name: 'get the reply', done }];
      }
      case 'allowed': {
        const { at, resetMs } = request.verdict as Verdict;
        const keep: Step<LimitState> = { actor, name: 'keep the hits', done: over };
        if (typeof at !== 'number') return [keep, { actor, name: 'begin a refund', done: fromNow('reading') }];
        const isFixed = check.rule.algorithm === 'fixed-window';
        const charge = isFixed ? Math.floor(at / 1_000) + resetMs : at;
        return [keep, refundStep(actor, refunding(charge), request, check.cost)];
      }
      case 'reading':
        return [
          {
            actor,
            name: 'read the window',
            call: windows,
            done: (next, window: Consumed) => void Object.assign(me(next), { phase: 'read', window }),
            lost: over,
          },
        ];
      case 'read': {
        const done = (next: LimitState, _reply: never, world: World): void => {
          const present = verdictsOf([check], request.window as Consumed)[0] as Verdict;
          const verdict = { ...(request.verdict as Verdict), check };
          const charge = endOfCharged(verdict, present, { fromMs: request.fromMs, toMs: world.nowMs });
          delete me(next).window;
          Object.assign(me(next), charge === undefined ? { phase: 'over' } : { phase: 'refunding', charge });
        };
        return [{ actor, name: 'get the window', done }];
      }
      case 'refunding':
        return [refundStep(actor, refunding(request.charge as number), request, check.cost)];
      case 'over':
        return [];
    }
  });
}

/** A refund that may have run counts as one that ran: the hits of this request are not promised to count any more. */
function refundStep(actor: string, call: ScriptCall, { index = 0 }: Request, cost: number): Step<LimitState> {
  const gone = (next: LimitState): void => {
    (next.charges[index] as Charge).gone = true;
    (next.requests[actor] as Request).phase = 'over';
  };
  const done = (next: LimitState, [given = 0]: readonly number[]): void => {
    if (given < 0 || given > cost) next.wrong = `A refund of ${cost} hits gave ${given}.`;
    gone(next);
  };
  return { actor, name: 'refund', call, done, lost: gone };
}

export function movesOf(state: LimitState, { reset, block }: Calls): Move<LimitState>[] {
  const operator = (kind: 'reset' | 'block', call: ScriptCall): Move<LimitState>[] =>
    (state.budgets[kind] ?? 0) === 0
      ? []
      : [
          {
            name: kind === 'reset' ? 'the operator resets the counter' : 'the operator blocks the user',
            run: (world, next) => {
              next.budgets[kind] = 0;
              world.call(call);
              // Two calls of different clients are never in the same microsecond.
              world.clock.advance(1);
              for (const charge of next.charges) charge.gone = true;
            },
          },
        ];
  return [...operator('reset', reset), ...operator('block', block)];
}
