import type { ArgsOf, KeysOf, ScriptDefinition, ScriptRegistry } from 'luanest/script-registry';
import type { LeasePort } from '../lease/lease';
import { acquireLock, leaveQueue, releaseLock, renewLock, waitForLock } from '../lock.scripts';
import type { PromptAnswers } from './spin-wait';

/** What Redis returns to an acquisition. */
export interface ClaimAnswer {
  /** Of this acquisition, or of the holder's. */
  readonly fence: number;
  /** 0 when taken; -1 when the lock is free and others wait; else when to ask again, ms. */
  readonly leftMs: number;
  /** Processes that come first, where this one waits in turn. */
  readonly ahead?: number;
  /** Replicas that had the lock in time, where some were asked for. */
  readonly copies?: number;
}

/** A process that waits in turn. */
export interface Ticket {
  /** No two of one name alike. */
  readonly ticket: string;
  /** How long the ticket counts without another call, ms; 0: does not wait. */
  readonly countsMs: number;
  /** How long the first in the queue has to take a lock that is free, ms. */
  readonly turnMs: number;
}

/** How an acquisition is asked for. */
export interface Asking {
  readonly leaseMs: number;
  readonly replicas: number;
  readonly replicasTimeoutMs: number;
  /** When it must be answered, ms from now. */
  readonly deadlineMs: number;
  /** Without one, the lock is taken if it is free and nobody waits for it. */
  readonly ticket?: Ticket;
}

/** How Redis is asked. */
export interface ClaimContext {
  readonly registry: ScriptRegistry;
  readonly prompt: PromptAnswers;
  /** How long a fence is kept beyond the lease, ms. */
  readonly retentionMs: number;
}

/** The keys of a name. */
export interface LockKeys {
  readonly lock: string;
  readonly queue: string;
}

/** One acquisition of one name as Redis knows it: its keys, and the token that goes with each call. */
export class Claim implements LeasePort {
  constructor(
    private readonly context: ClaimContext,
    private readonly keys: Pick<LockKeys, 'lock'> & Partial<LockKeys>,
    private readonly owner: string,
  ) {}

  acquire(asking: Asking): Promise<ClaimAnswer> {
    const { keys, owner, context } = this;
    const { leaseMs, ticket } = asking;
    const args = { owner, leaseMs, ttlMs: leaseMs + context.retentionMs };
    if (ticket) return this.ask(waitForLock, { keys: keys as LockKeys, args: { ...args, ...ticket } }, asking);
    return this.ask(acquireLock, { keys, args }, asking);
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

  private ask<K extends readonly string[], A>(
    script: ScriptDefinition<K, A, ClaimAnswer>,
    input: { readonly keys: KeysOf<K>; readonly args: ArgsOf<A> },
    { replicas, replicasTimeoutMs: timeoutMs, deadlineMs }: Asking,
  ): Promise<ClaimAnswer> {
    const { registry, prompt } = this.context;
    if (replicas === 0) return prompt.watch(registry.run(script, input, { deadlineMs }));
    const waited = registry.runAndWait(script, input, { replicas, timeoutMs, deadlineMs });
    return waited.then(({ result, replicas: copies }) => ({ ...result, copies }));
  }
}

/** Takes a ticket out of the queue. */
export function leave(registry: ScriptRegistry, keys: LockKeys, ticket: string): Promise<boolean> {
  return registry.run(leaveQueue, { keys, args: { ticket } });
}
