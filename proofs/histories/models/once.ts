import type { Model, Operation } from '../checker/history';

/** `of` is the id of the claim, or of the operation that set the lease or the TTL. */
export type OnceInput =
  | { readonly op: 'claim'; readonly owner?: string }
  | { readonly op: 'release'; readonly of: string }
  | RenewInput
  | { readonly op: 'confirm'; readonly of: string; readonly result: string }
  | { readonly op: 'peek' | 'first' }
  /** The lease ended, or Redis forgot the id, by Redis' clock. */
  | { readonly op: 'expire' | 'forget'; readonly of: string };

export interface RenewInput {
  readonly op: 'renew';
  readonly of: string;
  /** True: the retention may end before the renewed lease does. Then the renewal extends it. Default false. */
  readonly isLate?: boolean;
}

/**
 * Owner of claims whose outcome nobody knows. They are alike. Their process releases them later, or their leases end, so they may be
 * over at any time.
 */
export const ANYBODY = '?';

export interface OnceOutput {
  readonly status:
    'claimed' | 'in-progress' | 'done' | 'renewed' | 'confirmed' | 'released' | 'lost' | 'unknown' | 'first';
  readonly fence?: number;
  readonly result?: string;
  readonly confirmed?: boolean;
  readonly first?: boolean;
}

export type OnceOperation = Operation<OnceInput, OnceOutput>;

export interface OnceState {
  readonly phase: 'free' | 'claimed' | 'done' | 'abandoned';
  /** Id of the claim. */
  readonly owner: string;
  /** Id of the operation that set the lease, and of the one that set the TTL. */
  readonly lease: string;
  readonly ttl: string;
  /** Of the last claim. If it is not exact, only a lower bound is known. */
  readonly fence: number;
  readonly exact: boolean;
  readonly result: string;
  /** Id of the claim that was released last: a repeat of this release succeeds. */
  readonly released: string;
}

export interface OnceRules {
  /** True: leases and retentions end within the history. */
  readonly leasesEnd: boolean;
  readonly delivery: 'at-least-once' | 'at-most-once';
}

const FREE = { phase: 'free', owner: '', lease: '', ttl: '', result: '' } as const;

/** An id that is claimed by one owner at a time, and at last is done, with the result of its owner. */
export class OnceModel implements Model<OnceState, OnceOperation> {
  readonly start: OnceState = { ...FREE, fence: 0, exact: true, released: '' };

  constructor(private readonly rules: OnceRules) {}

  keyOf({ phase, owner, lease, ttl, fence, exact, result, released }: OnceState): string {
    return [phase, owner, lease, ttl, fence, exact, result, released].join(' ');
  }

  reads({ input, output }: OnceOperation): boolean {
    if (output === undefined) return false;
    if (input.op === 'peek' || output.first === false) return true;
    return ['in-progress', 'lost'].includes(output.status) || (input.op === 'claim' && output.status === 'done');
  }

  happens({ input }: OnceOperation): boolean {
    return input.op === 'expire' || input.op === 'forget';
  }

  classOf({ input }: OnceOperation): string | undefined {
    return input.op === 'claim' && input.owner === ANYBODY ? input.op : undefined;
  }

  step(state: OnceState, operation: OnceOperation): readonly OnceState[] {
    const next = this.next(state, operation);
    if (state.owner !== ANYBODY || (state.phase !== 'claimed' && state.phase !== 'abandoned')) return next;
    // A release replaces the note of the release before it. The end of a lease does not.
    const after: OnceState[] = [{ ...state, ...FREE, released: ANYBODY }];
    if (this.rules.leasesEnd || state.phase === 'abandoned') after.push({ ...state, ...FREE });
    if (this.rules.leasesEnd && state.phase === 'claimed') after.push(this.expired(state));
    return [...next, ...after.flatMap((one) => this.next(one, operation))];
  }

  private next(state: OnceState, { id, input, output }: OnceOperation): readonly OnceState[] {
    switch (input.op) {
      case 'claim':
        return this.claim(state, input.owner ?? id, output);
      case 'renew':
        return this.renew(state, id, input, output);
      case 'confirm':
        return confirm(state, id, input, output);
      case 'release':
        return release(state, input.of, output);
      case 'peek':
        return this.look(state, output);
      case 'first':
        // All sendings of a call have the same token.
        return first(state, id.split('/')[0] as string, output);
      case 'expire':
        return [state.phase === 'claimed' && state.lease === input.of ? this.expired(state) : state];
      case 'forget':
        return [state.ttl === input.of ? { ...state, ...FREE, released: '' } : state];
    }
  }

  private claim(state: OnceState, owner: string, output: OnceOutput | undefined): readonly OnceState[] {
    const { fence } = state;
    const claimed = { ...state, phase: 'claimed', owner, lease: owner, ttl: owner, result: '' } as const;
    if (output === undefined) return state.phase === 'free' ? [{ ...claimed, exact: false }] : [];
    const owns = state.phase === 'claimed' && state.owner === owner;
    if (output.status !== 'claimed') return owns ? [] : this.look(state, output);
    if (output.fence === undefined) return [];
    // The call was sent twice, and its first reply was lost.
    if (owns) return boundTo(state, output.fence);
    return state.phase === 'free' && output.fence > fence ? [{ ...claimed, fence: output.fence, exact: true }] : [];
  }

  private renew(
    state: OnceState,
    id: string,
    { of, isLate = false }: RenewInput,
    output: OnceOutput | undefined,
  ): readonly OnceState[] {
    const owns = state.phase === 'claimed' && state.owner === of;
    if (output?.status === 'lost') return owns ? [] : [state];
    if (!owns) return [];
    if (!this.rules.leasesEnd) return [state];
    const renewed = { ...state, lease: id };
    return isLate ? [renewed, { ...renewed, ttl: id }] : [renewed];
  }

  private look(state: OnceState, output: OnceOutput | undefined): readonly OnceState[] {
    if (output?.status === 'unknown') return state.phase === 'free' ? [state] : [];
    if (output?.status === 'in-progress') {
      if (state.phase !== 'claimed') return [];
      return output.fence === undefined ? [state] : boundTo(state, output.fence);
    }
    if (output?.status !== 'done') return [];
    if (output.confirmed !== true) return state.phase === 'abandoned' ? [state] : [];
    return state.phase === 'done' && state.result === output.result ? [state] : [];
  }

  private expired(state: OnceState): OnceState {
    if (this.rules.delivery === 'at-most-once') return { ...state, phase: 'abandoned', lease: '' };
    return { ...state, ...FREE, ttl: state.ttl };
  }
}

/** Returns the state if its fence may be this one. */
function boundTo(state: OnceState, fence: number): readonly OnceState[] {
  if (state.exact) return state.fence === fence ? [state] : [];
  return fence > state.fence ? [{ ...state, fence, exact: true }] : [];
}

function confirm(
  state: OnceState,
  id: string,
  { of, result }: { readonly of: string; readonly result: string },
  output: OnceOutput | undefined,
): readonly OnceState[] {
  const owns = state.owner === of && (state.phase === 'claimed' || state.phase === 'done');
  if (output?.status === 'lost') return owns ? [] : [state];
  if (!owns) return [];
  return state.phase === 'done' ? [state] : [{ ...state, phase: 'done', lease: '', ttl: id, result }];
}

function release(state: OnceState, of: string, output: OnceOutput | undefined): readonly OnceState[] {
  const owns = state.phase === 'claimed' && state.owner === of;
  const repeated = state.released === of;
  if (output?.status === 'lost') return owns || repeated ? [] : [state];
  if (owns) return [{ ...state, ...FREE, ttl: state.ttl, released: of }];
  return output !== undefined && repeated ? [state] : [];
}

function first(state: OnceState, id: string, output: OnceOutput | undefined): readonly OnceState[] {
  if (output?.first === false) return state.phase === 'done' && state.owner !== id ? [state] : [];
  if (state.phase === 'free') return [{ ...state, phase: 'done', owner: id, ttl: id }];
  return state.owner === id ? [state] : [];
}
