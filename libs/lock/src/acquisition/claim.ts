import type { ScriptRegistry } from 'luanest/script-registry';
import type { LeasePort } from '../lease/lease';
import { acquireLock, releaseLock, renewLock } from '../lock.scripts';
import type { PromptAnswers } from './prompt-answers';

/** What Redis says to an acquisition. */
export interface ClaimAnswer {
  readonly taken: boolean;
  /** Of this acquisition, or of the holder's. */
  readonly fence: number;
  /** What is left of the holder's lease, ms; 0 when taken. */
  readonly leftMs: number;
}

/** How Redis is asked. */
export interface ClaimContext {
  readonly registry: ScriptRegistry;
  readonly prompt: PromptAnswers;
  /** How long a fence is kept beyond the lease, ms. */
  readonly retentionMs: number;
}

/** One acquisition of one name as Redis knows it: a key, and the token that goes with each call. */
export class Claim implements LeasePort {
  private readonly keys: { readonly lock: string };

  constructor(
    private readonly context: ClaimContext,
    key: string,
    private readonly owner: string,
  ) {
    this.keys = { lock: key };
  }

  /** @param waits whether the holder's release should wake those who wait */
  acquire(leaseMs: number, waits: boolean): Promise<ClaimAnswer> {
    const { registry, prompt } = this.context;
    return prompt.watch(registry.run(acquireLock, this.acquisition(leaseMs, waits)));
  }

  /** As `acquire`, and tells how many of `replicas` had the lock within `timeoutMs`. */
  async acquireWithReplicas(
    leaseMs: number,
    waits: boolean,
    replicas: number,
    timeoutMs: number,
  ): Promise<{ readonly answer: ClaimAnswer; readonly copies: number }> {
    const waited = await this.context.registry.runAndWait(acquireLock, this.acquisition(leaseMs, waits), {
      replicas,
      timeoutMs,
    });
    return { answer: waited.result, copies: waited.replicas };
  }

  async renew(leaseMs: number, deadlineMs: number): Promise<boolean> {
    const { keys, owner } = this;
    const args = { owner, leaseMs, ttlMs: leaseMs + this.context.retentionMs };
    return (await this.context.registry.run(renewLock, { keys, args }, { deadlineMs })).held;
  }

  release(): Promise<boolean> {
    const { registry, prompt } = this.context;
    return prompt.watch(registry.run(releaseLock, { keys: this.keys, args: { owner: this.owner } }));
  }

  private acquisition(leaseMs: number, waits: boolean) {
    const { keys, owner, context } = this;
    return { keys, args: { owner, leaseMs, ttlMs: leaseMs + context.retentionMs, waits: waits ? 1 : 0 } };
  }
}
