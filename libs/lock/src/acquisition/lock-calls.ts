import type { ScriptDefinition, ScriptInput, ScriptRegistry } from 'luanest/script-registry';
import type { LeasePort } from '../lease/lease';
import { acquireLock, leaveQueue, releaseLock, renewLock, waitForLock } from '../lock.scripts';

export interface AcquireReply {
  /** Fence of this acquisition if `leftMs` is 0, otherwise the last fence of the lock. */
  readonly fence: number;
  /** 0: the lock was acquired. -1: it is free but marked as waited for. Above 0: time after which to try again, ms. */
  readonly leftMs: number;
  /** Number of tickets before this process' ticket; undefined for a call without a ticket. */
  readonly ahead?: number;
  /** Number of replicas that had this write in time; undefined if no replica was required. */
  readonly copies?: number;
}

/** Ticket of a process in the queue of a lock. */
export interface Ticket {
  readonly ticket: string;
  /** How long the ticket is valid without another call, ms. 0: the ticket is not added to the queue. */
  readonly countsMs: number;
  /** How long the first process in the queue has to take a free lock, ms. */
  readonly turnMs: number;
}

export interface AcquireParameters {
  readonly leaseMs: number;
  readonly replicas: number;
  readonly replicasTimeoutMs: number;
  /** Longest time until the reply, ms. */
  readonly deadlineMs: number;
  /** Ticket of this process. Without a ticket, the lock is acquired only if it is free and not marked as waited for. */
  readonly ticket?: Ticket;
}

export interface LockKeys {
  readonly lock: string;
  readonly queue: string;
}

/** Redis calls of one try to acquire a lock, and of its lease. All have the same owner token. */
export class LockCalls implements LeasePort {
  /**
   * @param retentionMs how long Redis keeps the fence after the lease, ms
   * @param owner token that no other try to acquire this lock has
   */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly retentionMs: number,
    private readonly keys: Pick<LockKeys, 'lock'> & Partial<LockKeys>,
    private readonly owner: string,
  ) {}

  acquire(parameters: AcquireParameters): Promise<AcquireReply> {
    const { keys, owner } = this;
    const { leaseMs, ticket } = parameters;
    const args = { owner, leaseMs, ttlMs: leaseMs + this.retentionMs };
    if (ticket) return this.run(waitForLock, { keys: keys as LockKeys, args: { ...args, ...ticket } }, parameters);
    return this.run(acquireLock, { keys, args }, parameters);
  }

  renew(leaseMs: number, deadlineMs: number): Promise<boolean> {
    const { keys, owner } = this;
    const args = { owner, leaseMs, ttlMs: leaseMs + this.retentionMs };
    return this.registry.run(renewLock, { keys, args }, { deadlineMs });
  }

  release(): Promise<boolean> {
    return this.registry.run(releaseLock, { keys: this.keys, args: { owner: this.owner } });
  }

  private run<K extends readonly string[], A>(
    script: ScriptDefinition<K, A, AcquireReply>,
    input: ScriptInput<K, A>,
    { replicas, replicasTimeoutMs: timeoutMs, deadlineMs }: AcquireParameters,
  ): Promise<AcquireReply> {
    if (replicas === 0) return this.registry.run(script, input, { deadlineMs });
    const waited = this.registry.runAndWait(script, input, { replicas, timeoutMs, deadlineMs });
    return waited.then(({ result, replicas: copies }) => ({ ...result, copies }));
  }
}

/** Removes a ticket from the queue of a lock. Returns false if the queue does not have it. */
export function leave(registry: ScriptRegistry, keys: LockKeys, ticket: string): Promise<boolean> {
  return registry.run(leaveQueue, { keys, args: { ticket } });
}
