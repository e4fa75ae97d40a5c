import { type KeySpace, type RunAndWaitOptions, type ScriptRegistry, type WaitedResult } from 'luanest/script-registry';
import { MAX_TIMER_MS, UniqueIds } from '../../internal/src';
import { OnceNotReplicatedError } from './once.errors';
import { events } from './once.events';
import { checkDuration, checkId, checkToken } from './once.input';
import {
  claimOnce,
  confirmOnce,
  firstOnce,
  peekOnce,
  releaseOnce,
  renewOnce,
  type StoredAnswer,
  type StoredPeek,
} from './once.scripts';
import type { ResolvedTerms } from './once.terms';
export { fenceOf, type StoredAnswer } from './once.scripts';
import type { ConfirmAnswer, Delivery, ReleaseAnswer, RenewAnswer } from './once.types';

/** How a write waits for replicas; not at all with 0. */
export type Waits = Pick<ResolvedTerms, 'replicas' | 'replicasTimeoutMs'>;

/** A claim with nothing left out. */
export interface FullClaim extends Waits {
  readonly token: string;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly delivery: Delivery;
  /** What a repeat must equal; '' for nothing. */
  readonly fingerprint: string;
}

// See DECISIONS.md: claims-of-each-kind-have-own-keys
/** What an id is claimed for. Each has keys of its own, so that no id of one leads to a claim of another. */
export type ClaimKind = 'claim' | 'handler' | 'request';

/** The caller of a call hears of its failure. */
const ignore = (): void => undefined;

/** The claims in Redis: what the service and the interceptor are made of. */
export class OnceStore {
  private readonly keys: KeySpace;
  private readonly tokens = new UniqueIds();

  constructor(private readonly registry: ScriptRegistry) {
    this.keys = registry.keySpace('once');
  }

  /** A token that no other call has. */
  newToken(): string {
    return this.tokens.next();
  }

  /**
   * Claims an id, by its key. Throws what is wrong with its arguments at once.
   *
   * @throws InvalidOnceInputError; OnceNotReplicatedError, after the claim was given back
   */
  claim(key: string, claim: FullClaim): Promise<StoredAnswer> {
    const { token, leaseMs, retentionMs, delivery, fingerprint, replicas } = claim;
    const args = {
      token: checkToken(token),
      leaseMs: checkDuration('leaseMs', leaseMs),
      retentionMs: checkDuration('retentionMs', retentionMs),
      delivery,
      fingerprint,
    };
    const input = { keys: { claim: key }, args };
    const answer =
      replicas === 0
        ? this.registry.run(claimOnce, input)
        : this.registry
            .runAndWait(claimOnce, input, this.waitOf(claim))
            .then((waited) => this.kept(waited, key, claim));
    if (events.claimAnswered.hasSubscribers)
      void answer.then(({ status }) => events.claimAnswered.publish(() => ({ status })), ignore);
    return answer;
  }

  /** Renews the owner's lease. @throws InvalidOnceInputError before anything is sent */
  async renew(key: string, token: string, leaseMs: number): Promise<RenewAnswer> {
    const args = {
      token: checkToken(token),
      leaseMs: checkDuration('leaseMs', leaseMs),
      operation: this.newToken(),
    };
    const { status, leaseEndsAtMs } = await this.registry.run(renewOnce, { keys: { claim: key }, args });
    if (status === 'renewed') return { status, leaseEndsAtMs };
    events.leaseLost.publish(() => ({ during: 'renew' }));
    return { status };
  }

  /**
   * Marks an id as done. Throws what is wrong with its arguments at once.
   *
   * @param result JSON, or '' for none
   * @throws OnceNotReplicatedError; the id is done then, on the master
   */
  confirm(key: string, token: string, result: string, waits: Waits): Promise<ConfirmAnswer> {
    const input = { keys: { claim: key }, args: { token: checkToken(token), result } };
    const answer =
      waits.replicas === 0
        ? this.registry.run(confirmOnce, input)
        : this.registry.runAndWait(confirmOnce, input, this.waitOf(waits)).then((waited) => confirmed(waited, waits));
    if (events.leaseLost.hasSubscribers) {
      void answer.then(({ status }) => {
        if (status === 'lost') events.leaseLost.publish(() => ({ during: 'confirm' }));
      }, ignore);
    }
    return answer;
  }

  /** Gives an id back. */
  async release(key: string, token: string): Promise<ReleaseAnswer> {
    const args = { token: checkToken(token) };
    const status = await this.registry.run(releaseOnce, { keys: { claim: key }, args });
    if (status === 'lost') events.leaseLost.publish(() => ({ during: 'release' }));
    return { status };
  }

  /** Releases a claim under which nobody will work. Never throws: if it fails, the lease ends by itself. */
  async giveBack(key: string, token: string): Promise<void> {
    try {
      await this.release(key, token);
    } catch (error) {
      events.settlementFailed.publish(() => ({ error }));
    }
  }

  /** Reads what is known of an id, by its key. */
  peek(key: string): Promise<StoredPeek> {
    return this.registry.run(peekOnce, { keys: { claim: key }, args: {} });
  }

  /** Remembers an id; true for the call that was first. Throws what is wrong with its arguments at once. */
  first(id: string, token: string, retentionMs: number): Promise<boolean> {
    const args = { token: checkToken(token), retentionMs: checkDuration('retentionMs', retentionMs) };
    return this.registry.run(firstOnce, { keys: { first: this.keys.tag(checkId(id)).key('first') }, args });
  }

  /** The key of an id. @throws InvalidOnceInputError */
  keyOf(id: string, kind: ClaimKind = 'claim'): string {
    return this.keys.tag(checkId(id)).key(kind);
  }

  /** Gives a claim back that too few replicas have. */
  private async kept({ result, replicas }: WaitedResult<StoredAnswer>, key: string, claim: FullClaim) {
    if (result.status !== 'claimed' || replicas >= claim.replicas) return result;
    await this.giveBack(key, claim.token);
    throw new OnceNotReplicatedError('claim', replicas, claim.replicas);
  }

  /** The replicas' time comes on top of Redis' own. */
  private waitOf({ replicas, replicasTimeoutMs: timeoutMs }: Waits): RunAndWaitOptions {
    const deadlineMs = Math.min(this.registry.deadlineMs + timeoutMs, MAX_TIMER_MS);
    return { replicas, timeoutMs, deadlineMs };
  }
}

function confirmed({ result, replicas }: WaitedResult<ConfirmAnswer>, waits: Waits): ConfirmAnswer {
  if (result.status === 'lost' || replicas >= waits.replicas) return result;
  throw new OnceNotReplicatedError('confirm', replicas, waits.replicas);
}
