import type { Model, Operation } from '../checker/history';

export type LimiterInput =
  | ConsumeInput
  | { readonly op: 'peek'; readonly cost: number }
  /** Refunds the hits of the operation `of`. `isSlow`: the calls took as long as a window, so nothing may be refunded. */
  | { readonly op: 'refund'; readonly of: string; readonly cost: number; readonly isSlow?: boolean }
  | { readonly op: 'reset' }
  /** The window that began with the operation `of` has ended, by Redis' clock. */
  | { readonly op: 'end'; readonly of: string };

export interface ConsumeInput {
  readonly op: 'consume';
  readonly cost: number;
  /** True if the hits are refunded later. Default false. */
  readonly refunded?: boolean;
  /** Name of the window, if it begins with these hits. Default: the id of the operation. */
  readonly window?: string;
}

/**
 * Windows that began with hits of which nobody knows when they were counted. They are alike. If windows end within the history,
 * they may end at any time.
 */
export const ANY_WINDOW = '?';

export interface LimiterOutput {
  readonly allowed?: boolean;
  readonly used?: number;
  readonly refunded?: number;
  readonly reset?: boolean;
}

export type LimiterOperation = Operation<LimiterInput, LimiterOutput>;

export interface LimiterState {
  /** Id of the operation that began the window; '' without a window. */
  readonly window: string;
  readonly used: number;
  /** Operations of this window whose hits are refunded later, each with the name of the window. */
  readonly charges: Readonly<Record<string, string>>;
}

/** The end of the window. Its hits never count again. */
const ENDED: LimiterState = { window: '', used: 0, charges: {} };

/** A fixed window: at most `limit` hits are counted from its first hit to its end. */
export class LimiterModel implements Model<LimiterState, LimiterOperation> {
  readonly start = ENDED;

  /** @param windowsEnd true if windows end within the history */
  constructor(
    private readonly limit: number,
    private readonly windowsEnd: boolean,
  ) {}

  keyOf({ window, used, charges }: LimiterState): string {
    return `${window} ${used} ${Object.entries(charges).sort().join(' ')}`;
  }

  reads({ input, output }: LimiterOperation): boolean {
    if (output === undefined) return false;
    if (input.op === 'consume') return output.allowed === false;
    return input.op === 'peek' || output.refunded === 0 || output.reset === false;
  }

  happens({ input }: LimiterOperation): boolean {
    return input.op === 'end';
  }

  classOf({ input }: LimiterOperation): string | undefined {
    if (input.op === 'reset') return 'reset';
    return input.op === 'consume' && input.window === ANY_WINDOW ? `consume ${input.cost}` : undefined;
  }

  step(state: LimiterState, operation: LimiterOperation): readonly LimiterState[] {
    const next = this.next(state, operation);
    if (!this.windowsEnd || state.window !== ANY_WINDOW) return next;
    return [...next, ...this.next(ENDED, operation)];
  }

  private next(state: LimiterState, { id, input, output }: LimiterOperation): readonly LimiterState[] {
    switch (input.op) {
      case 'consume':
        return this.consume(state, id, input, output);
      case 'peek':
        return this.peek(state, input.cost, output);
      case 'refund':
        return refund(state, input, output);
      case 'reset':
        return reset(state, output);
      case 'end':
        return [state.window === input.of ? ENDED : state];
    }
  }

  private consume(
    state: LimiterState,
    id: string,
    { cost, refunded, window: name = id }: ConsumeInput,
    output: LimiterOutput | undefined,
  ): readonly LimiterState[] {
    const used = state.used + cost;
    const fits = used <= this.limit;
    if (output?.allowed === false) return !fits && output.used === state.used ? [state] : [];
    if (!fits || (output !== undefined && output.used !== used)) return [];
    const window = state.used === 0 ? name : state.window;
    const charges = refunded === true ? { ...state.charges, [id]: window } : state.charges;
    return [{ window, used, charges }];
  }

  private peek(state: LimiterState, cost: number, output: LimiterOutput | undefined): readonly LimiterState[] {
    const fits = state.used + cost <= this.limit;
    return output?.allowed === fits && output.used === state.used ? [state] : [];
  }
}

function refund(
  state: LimiterState,
  { of, cost, isSlow = false }: { readonly of: string; readonly cost: number; readonly isSlow?: boolean },
  output: LimiterOutput | undefined,
): readonly LimiterState[] {
  if (isSlow && output?.refunded === 0) return [state];
  const counts = state.used > 0 && state.charges[of] === state.window;
  const hits = counts ? Math.min(cost, state.used) : 0;
  if (output !== undefined && output.refunded !== hits) return [];
  const charges = Object.fromEntries(Object.entries(state.charges).filter(([id]) => id !== of));
  const used = state.used - hits;
  return [used === 0 ? ENDED : { ...state, used, charges }];
}

function reset(state: LimiterState, output: LimiterOutput | undefined): readonly LimiterState[] {
  if (output !== undefined && output.reset !== state.used > 0) return [];
  return [ENDED];
}
