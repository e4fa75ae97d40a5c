import { type KeySpace, type ScriptRegistry, UnknownOutcomeError } from 'luanest/script-registry';
import { Lease } from '../lease/lease';
import { LiveLeases } from '../lease/live-leases';
import { LockClosedError, LockNotReplicatedError } from '../lock.errors';
import type { LockOptions, ResolvedLockModuleOptions } from '../lock.options';
import { Claim, type ClaimAnswer, type ClaimContext } from './claim';
import { Owners } from './owners';
import { PromptAnswers } from './prompt-answers';
import { Waiting } from './waiting';

/** Options of an acquisition with every default filled in. */
export type Request = Required<LockOptions>;

/** Takes one name at a time: asks Redis, waits for others, and makes a lease of what it got. */
export class Acquirer {
  /** What this process holds. */
  readonly live = new LiveLeases();
  private readonly owners: Owners;
  private readonly context: ClaimContext;
  private readonly space: KeySpace;
  private readonly waiters = new Set<Waiting>();
  private asking = 0;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedLockModuleOptions,
  ) {
    this.owners = new Owners(options.holder);
    this.space = registry.keySpace('lock');
    this.context = {
      registry,
      prompt: new PromptAnswers(options.promptAnswers),
      retentionMs: options.fenceRetentionMs,
    };
  }

  keyOf(name: string): string {
    return this.space.tag(name).key('lock');
  }

  /**
   * Takes a name; undefined when others hold it, as long as the request is willing to wait.
   *
   * @param deadline of the wait, by `performance.now()`; default: `waitMs` from now
   */
  async take(name: string, request: Request, deadline?: number): Promise<Lease | undefined> {
    const key = this.keyOf(name);
    const sentAt = performance.now();
    const first = await this.attempt(name, key, request, request.waitMs > 0, sentAt);
    if (typeof first !== 'number') return first;
    return request.waitMs === 0 ? undefined : this.wait(name, key, request, deadline ?? sentAt + request.waitMs, first);
  }

  /** Returns true when nothing is held, and no call of an acquisition or a release is in flight. */
  get idle(): boolean {
    return this.asking === 0 && this.live.empty;
  }

  /** Ends all waiting, and refuses to take more. */
  close(): void {
    this.closed = true;
    for (const waiting of this.waiters) waiting.ring();
  }

  private async wait(
    name: string,
    key: string,
    request: Request,
    deadline: number,
    firstLeftMs: number,
  ): Promise<Lease | undefined> {
    const { pollMs } = this.options;
    const waiting = new Waiting(this.registry, name, key);
    this.waiters.add(waiting);
    try {
      for (let leftMs = firstLeftMs; ;) {
        const remaining = deadline - performance.now();
        if (remaining <= 0) return undefined;
        // A release between the try and the subscription would be missed: try again once it stands.
        if (!(await waiting.listen(Math.min(remaining, pollMs)))) {
          const pause = pollMs * (0.5 + Math.random() / 2);
          await waiting.sleep(Math.max(1, Math.min(deadline - performance.now(), pause, leftMs + 1)));
        }
        const answer = await this.attempt(name, key, request, true, performance.now());
        if (typeof answer !== 'number') return answer;
        leftMs = answer;
      }
    } finally {
      waiting.close();
      this.waiters.delete(waiting);
    }
  }

  /** The lease, or what is left of the holder's, ms. */
  private async attempt(
    name: string,
    key: string,
    request: Request,
    waits: boolean,
    sentAt: number,
  ): Promise<Lease | number> {
    this.refuseClosed(name);
    const claim = new Claim(this.context, key, this.owners.tokenFor(name));
    let answer: ClaimAnswer;
    this.asking += 1;
    try {
      if (request.replicas > 0) answer = await this.askReplicas(name, claim, request, waits);
      else answer = await claim.acquire(request.leaseMs, waits);
    } catch (error) {
      // Unless it is known not to have run, the lock may be ours without anybody to hold it.
      if (error instanceof UnknownOutcomeError) this.giveBack(claim);
      throw error;
    } finally {
      this.asking -= 1;
    }
    if (this.closed && answer.taken) this.giveBack(claim);
    this.refuseClosed(name);
    return answer.taken ? this.hold(name, claim, answer.fence, request, sentAt) : answer.leftMs;
  }

  /** @throws LockNotReplicatedError when the lock was taken and too few replicas had it in time; it is given back */
  private async askReplicas(name: string, claim: Claim, request: Request, waits: boolean): Promise<ClaimAnswer> {
    const { leaseMs, replicas, replicasTimeoutMs } = request;
    const { answer, copies } = await claim.acquireWithReplicas(leaseMs, waits, replicas, replicasTimeoutMs);
    if (!answer.taken || copies >= replicas) return answer;
    await claim.release().catch(() => undefined);
    throw new LockNotReplicatedError(
      `Lock ${name} reached ${copies} of ${replicas} replicas in ${replicasTimeoutMs} ms.`,
    );
  }

  private hold(name: string, claim: Claim, fence: number, request: Request, sentAt: number): Lease | number {
    const { leaseMs, renew } = request;
    const lease = new Lease({ name, fence, leaseMs, sentAt, renew, keeper: this.live }, claim);
    if (lease.held) return lease;
    // The answer came when the lease was over already.
    this.giveBack(claim);
    return 1;
  }

  /** Releases in the background; if that fails, the lease ends by itself. */
  private giveBack(claim: Claim): void {
    this.asking += 1;
    const ended = (): void => void (this.asking -= 1);
    claim.release().then(ended, ended);
  }

  private refuseClosed(name: string): void {
    if (this.closed) throw new LockClosedError(`Lock ${name} was not taken: the app is shutting down.`);
  }
}
