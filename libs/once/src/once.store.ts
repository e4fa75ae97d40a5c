import { randomBytes } from 'node:crypto';
import type { KeySpace, ScriptRegistry } from 'luanest/script-registry';
import { events } from './once.events';
import { checkDuration, checkId, checkToken } from './once.input';
import { claimOnce, confirmOnce, firstOnce, releaseOnce, renewOnce, type StoredAnswer } from './once.scripts';
export type { StoredAnswer } from './once.scripts';
import type { ConfirmAnswer, Delivery, ReleaseAnswer, RenewAnswer } from './once.types';

/** A claim with nothing left out. */
export interface FullClaim {
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
  private readonly tokenPrefix = randomBytes(12).toString('base64url');
  private tokens = 0;

  constructor(private readonly registry: ScriptRegistry) {
    this.keys = registry.keySpace('once');
  }

  /** A token that no other call has: random for the process, counted within it. */
  newToken(): string {
    this.tokens += 1;
    return `${this.tokenPrefix}.${this.tokens.toString(36)}`;
  }

  /** Claims an id, by its key. Throws what is wrong with its arguments at once. @throws InvalidOnceInputError */
  claim(key: string, claim: FullClaim): Promise<StoredAnswer> {
    const { token, leaseMs, retentionMs, delivery, fingerprint } = claim;
    const args = {
      token: checkToken(token),
      leaseMs: checkDuration('leaseMs', leaseMs),
      retentionMs: checkDuration('retentionMs', retentionMs),
      delivery,
      fingerprint,
    };
    const answer = this.registry.run(claimOnce, { keys: { claim: key }, args });
    if (events.claimAnswered.heard)
      void answer.then(({ status }) => events.claimAnswered.publish(() => ({ status })), ignore);
    return answer;
  }

  /** Lets the owner's lease run anew. @throws InvalidOnceInputError before anything is sent */
  async renew(key: string, token: string, leaseMs: number): Promise<RenewAnswer> {
    const args = {
      token: checkToken(token),
      leaseMs: checkDuration('leaseMs', leaseMs),
      operation: this.newToken(),
    };
    const { status, leaseUntilMs } = await this.registry.run(renewOnce, { keys: { claim: key }, args });
    if (status === 'renewed') return { status, leaseUntilMs };
    events.leaseLost.publish(() => ({ during: 'renew' }));
    return { status };
  }

  /** Marks an id as done. Throws what is wrong with its arguments at once. @param result JSON, or '' for none */
  confirm(key: string, token: string, result: string): Promise<ConfirmAnswer> {
    const args = { token: checkToken(token), result };
    const answer = this.registry.run(confirmOnce, { keys: { claim: key }, args });
    if (events.leaseLost.heard) {
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

  /** Remembers an id; true for the call that was first. Throws what is wrong with its arguments at once. */
  first(id: string, token: string, retentionMs: number): Promise<boolean> {
    const args = { token: checkToken(token), retentionMs: checkDuration('retentionMs', retentionMs) };
    return this.registry.run(firstOnce, { keys: { first: this.keys.tag(checkId(id)).key('first') }, args });
  }

  /** The key of an id. @throws InvalidOnceInputError */
  keyOf(id: string, kind: ClaimKind = 'claim'): string {
    return this.keys.tag(checkId(id)).key(kind);
  }
}
