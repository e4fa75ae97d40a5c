import type { Model, Operation } from '../checker/history';

/** `of` is the id of the acquisition. */
export type LockInput =
  | { readonly op: 'acquire'; readonly owner?: string }
  | { readonly op: 'release' | 'extend'; readonly of: string }
  | { readonly op: 'status' | 'force' }
  /** The lease that an acquisition or extension with this id set has ended, by Redis' clock. */
  | { readonly op: 'expire'; readonly of: string };

/**
 * Owner of acquisitions whose outcome nobody knows. They are alike. Their process releases them later, or their leases end, so they
 * may be over at any time.
 */
export const ANYBODY = '?';

export interface LockOutput {
  /** Result of a release or an extension; `busy` of an acquisition. */
  readonly says?: 'busy' | 'released' | 'extended' | 'lost';
  readonly fence?: number;
  readonly held?: boolean;
  /** Name of the process that holds the lock. */
  readonly holder?: string;
}

export type LockOperation = Operation<LockInput, LockOutput>;

export interface LockState {
  readonly held: boolean;
  /** Id of the last acquisition; '' after `forceUnlock`. Its release succeeds until the next acquisition. */
  readonly owner: string;
  /** Id of the operation that set the lease. */
  readonly lease: string;
  /** The last fence. If it is not exact, only a lower bound is known: the acquisition returned nothing. */
  readonly fence: number;
  readonly exact: boolean;
}

export interface LockRules {
  /** True: leases end within the history. Then a holder may call its lock lost before Redis does. */
  readonly leasesEnd: boolean;
  /** True: callers wait. Then a lock may be busy although nobody holds it, because it is the turn of another caller. */
  readonly waiting: boolean;
}

/** A lock: one holder at a time, and a fence that rises with each acquisition. */
export class LockModel implements Model<LockState, LockOperation> {
  readonly start: LockState = { held: false, owner: '', lease: '', fence: 0, exact: true };

  constructor(private readonly rules: LockRules) {}

  keyOf({ held, owner, lease, fence, exact }: LockState): string {
    return `${held} ${owner} ${lease} ${fence} ${exact}`;
  }

  reads({ input, output }: LockOperation): boolean {
    if (output === undefined) return false;
    if (input.op === 'status') return true;
    if (output.says === 'busy') return true;
    return !this.rules.leasesEnd && (input.op === 'extend' || output.says === 'lost');
  }

  happens({ input }: LockOperation): boolean {
    return input.op === 'expire';
  }

  classOf({ input }: LockOperation): string | undefined {
    return input.op === 'force' || (input.op === 'acquire' && input.owner === ANYBODY) ? input.op : undefined;
  }

  step(state: LockState, operation: LockOperation): readonly LockState[] {
    const next = this.next(state, operation);
    if (!state.held || state.owner !== ANYBODY) return next;
    return [...next, ...this.next({ ...state, held: false }, operation)];
  }

  private next(state: LockState, { id, input, output }: LockOperation): readonly LockState[] {
    switch (input.op) {
      case 'acquire':
        return this.acquire(state, input.owner ?? id, output);
      case 'release':
        return this.release(state, input.of, output);
      case 'extend':
        return this.extend(state, id, input.of, output);
      case 'status':
        return this.status(state, output);
      case 'force':
        return this.force(state, output);
      case 'expire':
        return [state.held && state.lease === input.of ? { ...state, held: false } : state];
    }
  }

  private acquire(state: LockState, owner: string, output: LockOutput | undefined): readonly LockState[] {
    if (output?.says === 'busy') return this.rules.waiting || state.held ? [state] : [];
    if (output?.fence === undefined) {
      return state.held ? [] : [{ held: true, owner, lease: owner, fence: state.fence, exact: false }];
    }
    const { fence } = output;
    // The call was sent twice, and its first reply was lost.
    const again = state.held && state.owner === owner;
    if (state.held && !again) return [];
    if (again && state.exact ? fence !== state.fence : fence <= state.fence) return [];
    return [{ held: true, owner, lease: owner, fence, exact: true }];
  }

  private release(state: LockState, of: string, output: LockOutput | undefined): readonly LockState[] {
    const mine = state.owner === of;
    const freed = { ...state, held: false };
    if (output === undefined) return mine && state.held ? [freed] : [];
    if (output.says === 'released') return mine ? [freed] : [];
    // A holder whose lease has ended by its own clock sends the release, too.
    if (mine && state.held) return this.rules.leasesEnd ? [freed] : [];
    return mine && !this.rules.leasesEnd ? [] : [state];
  }

  private extend(state: LockState, id: string, of: string, output: LockOutput | undefined): readonly LockState[] {
    const holds = state.held && state.owner === of;
    const extended = this.rules.leasesEnd ? { ...state, lease: id } : state;
    if (output?.says === 'extended') return holds ? [extended] : [];
    if (!this.rules.leasesEnd) return output !== undefined && !holds ? [state] : [];
    // The reply of an extension may come after the end of the lease by the holder's clock.
    const late = holds ? [extended] : [];
    return output === undefined ? late : [state, ...late];
  }

  private status(state: LockState, output: LockOutput | undefined): readonly LockState[] {
    if (output?.fence === undefined || output.held !== state.held) return [];
    if (state.held && state.owner !== ANYBODY && output.holder !== processOf(state.owner)) return [];
    if (state.exact) return output.fence === state.fence ? [state] : [];
    return output.fence > state.fence ? [{ ...state, fence: output.fence, exact: true }] : [];
  }

  private force(state: LockState, output: LockOutput | undefined): readonly LockState[] {
    const freed = { held: false, owner: '', lease: '' };
    if (output?.fence === undefined) return [{ ...freed, fence: state.fence, exact: false }];
    if (output.held !== state.held || output.fence <= state.fence) return [];
    return [{ ...freed, fence: output.fence, exact: true }];
  }
}

/** Returns the process that called an operation. */
export function processOf(id: string): string {
  return id.slice(0, id.lastIndexOf('-'));
}
