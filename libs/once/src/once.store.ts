import { type KeySpace, type ScriptRegistry } from 'luanest/script-registry';
import { MAX_TIMER_MS, NotReplicatedError, renewalNotReplicated, UniqueIds, waitOfRenewal } from '../../internal/src';
import { events } from './once.events';
import { OnceConsole } from './once.console';
import { checkId, checkLease, checkRetention, checkToken } from './once.input';
import {
  claimOnce,
  confirmOnce,
  firstOnce,
  peekOnce,
  releaseOnce,
  renewOnce,
  type StoredReply,
  type StoredPeek,
} from './once.scripts';
import type { ResolvedTerms } from './once.terms';
import type { ConfirmResult, Delivery, ReleaseResult, RenewResult } from './once.types';

/** Number of replicas to wait for after a write, and the longest wait. 0 replicas: no wait. */
export type Waits = Pick<ResolvedTerms, 'replicas' | 'replicasTimeoutMs'>;

export interface FullClaim extends Waits {
  readonly token: string;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly delivery: Delivery;
  /** Hash of the content of an HTTP request; '' for other claims. A claim with another fingerprint than the first one gets `mismatch`. */
  readonly fingerprint: string;
}

/**
 * Kind of a claim. `claim`: of an id that the app has chosen; `handler`: of a message for a method with `@Once()`; `request`: of an HTTP
 * request. Each kind has its own Redis keys, so the same id can be claimed once for each kind.
 * See DECISIONS.md: claims-of-each-kind-have-own-keys
 */
export type ClaimKind = 'claim' | 'handler' | 'request';

/** Ignores an error. For promises that only publish an event: the caller gets the same error from another promise. */
const ignore = (): void => undefined;

/** Reads and writes claims in Redis, for OnceService and IdempotencyInterceptor. */
export class OnceStore {
  private readonly keys: KeySpace;
  private readonly tokens = new UniqueIds();

  constructor(private readonly registry: ScriptRegistry) {
    this.keys = registry.keySpace('once');
  }

  newToken(): string {
    return this.tokens.next();
  }

  /**
   * Claims an id by its key. Throws synchronously if an argument is invalid.
   *
   * @throws InvalidInputError before anything is sent; NotReplicatedError after an attempt to release the claim; the
   * errors of ScriptRegistry.run()
   */
  claim(key: string, claim: FullClaim): Promise<StoredReply> {
    const { token, leaseMs, retentionMs, delivery, fingerprint, replicas } = claim;
    // Only the token must be checked here; all other arguments were checked before.
    const args = { token: checkToken(token), leaseMs, retentionMs, delivery, fingerprint };
    const input = { keys: { claim: key }, args };
    const answer =
      replicas === 0
        ? this.registry.run(claimOnce, input)
        : this.registry
            .runAndWait(claimOnce, input, this.waitOf(claim))
            .then((waited) => this.releaseUnlessReplicated(waited, key, claim));
    if (events.claimAnswered.hasSubscribers)
      void answer.then(({ status }) => events.claimAnswered.publish(() => ({ status }), this.registry), ignore);
    return answer;
  }

  /**
   * Renews the lease of an owner.
   *
   * @throws InvalidInputError before anything is sent; NotReplicatedError if too few replicas have the renewal in time
   */
  async renew(key: string, token: string, leaseMs: number, waits: Waits, deadlineMs?: number): Promise<RenewResult> {
    const args = {
      token: checkToken(token),
      leaseMs: checkLease(leaseMs),
      operation: this.newToken(),
    };
    const input = { keys: { claim: key }, args };
    const { status, leaseEndsAtMs } =
      waits.replicas === 0
        ? await this.registry.run(renewOnce, input, { deadlineMs })
        : await this.registry
            .runAndWait(
              renewOnce,
              input,
              deadlineMs === undefined ? this.waitOf(waits) : waitOfRenewal(waits, deadlineMs),
            )
            .then((waited) => renewed(waited, waits));
    if (status === 'renewed') return { status, leaseEndsAtMs };
    events.leaseLost.publish(() => ({ during: 'renew' }));
    return { status };
  }

  /**
   * Marks an id as done. Throws synchronously if an argument is invalid.
   *
   * @param result result as JSON, or '' for no result
   * @throws NotReplicatedError if too few replicas have the write in time. The id is done on the master, but a failover may lose
   * this
   */
  confirm(key: string, token: string, result: string, waits: Waits): Promise<ConfirmResult> {
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

  /** Releases an id. @throws InvalidInputError before anything is sent */
  async release(key: string, token: string): Promise<ReleaseResult> {
    const args = { token: checkToken(token) };
    const status = await this.registry.run(releaseOnce, { keys: { claim: key }, args });
    if (status === 'lost') events.leaseLost.publish(() => ({ during: 'release' }));
    return { status };
  }

  /** Releases a claim that nobody will use. Never throws: if the release fails, publishes an event, and the claim ends with its lease. */
  async giveBack(key: string, token: string): Promise<void> {
    try {
      await this.release(key, token);
    } catch (error) {
      events.settlementFailed.publish(() => ({ error }));
    }
  }

  peek(key: string): Promise<StoredPeek> {
    return this.registry.run(peekOnce, { keys: { claim: key }, args: {} });
  }

  /**
   * Remembers an id. Resolves with true for the first call with this id, and with false for later calls. Throws synchronously if an
   * argument is invalid.
   */
  first(id: string, token: string, retentionMs: number): Promise<boolean> {
    const args = { token: checkToken(token), retentionMs: checkRetention(retentionMs) };
    return this.registry.run(firstOnce, { keys: { first: this.keys.tag(checkId(id)).key('first') }, args });
  }

  /** Returns functions for `luanest/console`. */
  console(): OnceConsole {
    return new OnceConsole(this.registry);
  }

  /** Returns the Redis key of an id. @throws InvalidInputError for an invalid id */
  keyOf(id: string, kind: ClaimKind = 'claim'): string {
    return this.keys.tag(checkId(id)).key(kind);
  }

  /**
   * Returns the reply to a claim. If the claim was made, but too few replicas have it, tries to release it, and throws NotReplicatedError.
   */
  private async releaseUnlessReplicated(
    { result, replicas }: { readonly result: StoredReply; readonly replicas: number },
    key: string,
    claim: FullClaim,
  ) {
    if (result.status !== 'claimed' || replicas >= claim.replicas) return result;
    await this.giveBack(key, claim.token);
    throw notReplicated('claim', replicas, claim.replicas);
  }

  /** Returns the options for `runAndWait`. The wait for the replicas is added to the usual deadline. */
  private waitOf({ replicas, replicasTimeoutMs: timeoutMs }: Waits): Parameters<ScriptRegistry['runAndWait']>[2] {
    const deadlineMs = Math.min(this.registry.deadlineMs + timeoutMs, MAX_TIMER_MS);
    return { replicas, timeoutMs, deadlineMs };
  }
}

/** Returns the reply to a renewal. @throws NotReplicatedError if too few replicas have it, so that a failover may lose it */
function renewed<Reply extends { readonly status: string }>(
  { result, replicas }: { readonly result: Reply; readonly replicas: number },
  waits: Waits,
): Reply {
  if (result.status === 'lost' || replicas >= waits.replicas) return result;
  throw renewalNotReplicated('a claim of OnceModule', replicas, waits);
}

function confirmed(
  { result, replicas }: { readonly result: ConfirmResult; readonly replicas: number },
  waits: Waits,
): ConfirmResult {
  if (result.status === 'lost' || replicas >= waits.replicas) return result;
  throw notReplicated('confirm', replicas, waits.replicas);
}

function notReplicated(during: 'claim' | 'confirm', copies: number, replicas: number): NotReplicatedError {
  const effect =
    during === 'claim'
      ? 'Nothing ran, and the claim was released (if that failed, it ends with its lease). Repeat the call.'
      : 'The work ran, and its id is marked as done on the master. A failover may lose this mark; then the work may run again.';
  const what = during === 'claim' ? 'claim of an id' : 'confirmation of an id';
  return new NotReplicatedError(
    `OnceModule: The ${what} reached ${copies} of ${replicas} replicas within replicasTimeoutMs. ${effect} Check that the replicas ` +
      'are connected and do not lag.',
    during,
    copies,
    replicas,
  );
}
