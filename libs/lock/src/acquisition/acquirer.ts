import { type KeySpace, type ScriptRegistry, UnknownOutcomeError } from 'luanest/script-registry';
import { Lease } from '../lease/lease';
import { LiveLeases } from '../lease/live-leases';
import { LockClosedError, LockNotReplicatedError } from '../lock.errors';
import type { ResolvedLockModuleOptions, ResolvedLockOptions } from '../lock.options';
import { Claim, leave, type ClaimAnswer, type ClaimContext, type LockKeys, type Ticket } from './lock-calls';
import { Ending } from './ending';
import { Line, TURN_MS, type Look } from './wait-queue';
import { Owners } from './owner-tokens';
import { PromptAnswers } from './spin-wait';
import { Releases } from './waiting';

/** Of those that do not wait. */
const NO_TICKET = '-';

/** What is asked of Redis for one name. */
interface Wish {
  readonly name: string;
  readonly key: string;
  readonly request: ResolvedLockOptions;
  /** When the caller waits no longer, by `performance.now()`. */
  readonly until: number;
}

/** Takes one name at a time: asks Redis, waits for others, and makes a lease of what it got. */
export class Acquirer {
  /** What this process holds. */
  readonly live = new LiveLeases();
  private readonly owners: Owners;
  private readonly context: ClaimContext;
  private readonly space: KeySpace;
  private readonly lines = new Map<string, Line>();
  private readonly endings = new Set<Ending>();
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

  /** The key of a name. @throws InvalidKeyError for a name that no key can hold */
  keyOf(name: string): string {
    return this.space.tag(name).key('lock');
  }

  /**
   * Takes a name. Returns undefined when others hold it, or wait for it, for as long as the request is willing to wait.
   *
   * @param until end of the wait, by `performance.now()`; default: `waitMs` from now
   * @throws the reason of the request's signal, when it fires before the name is taken
   */
  take(
    name: string,
    request: ResolvedLockOptions,
    until = performance.now() + request.waitMs,
  ): Promise<Lease | undefined> {
    const wish = { name, key: this.keyOf(name), request, until };
    return request.signal ? this.takeUnlessAborted(wish, request.signal) : this.takeOrWait(wish);
  }

  /** Returns true when nothing is held, and no call of an acquisition or a release is in flight. */
  get idle(): boolean {
    return this.asking === 0 && this.live.empty;
  }

  /** Ends all waiting, and refuses to take more. */
  close(): void {
    this.closed = true;
    for (const ending of this.endings) ending.end(closedError());
  }

  private async takeUnlessAborted(wish: Wish, signal: AbortSignal): Promise<Lease | undefined> {
    signal.throwIfAborted();
    const ending = new Ending(signal);
    try {
      return await ending.race(this.takeOrWait(wish, ending));
    } finally {
      ending.close();
    }
  }

  private async takeOrWait(wish: Wish, ending?: Ending): Promise<Lease | undefined> {
    const { waitMs } = wish.request;
    if (!this.lines.has(wish.key)) {
      const first = await this.ask(wish);
      if ('lease' in first) return first.lease;
      if (waitMs === 0) return first.leftMs < 0 ? this.takeUnlessWaitedFor(wish) : undefined;
    }
    return waitMs === 0 ? undefined : this.wait(wish, ending);
  }

  private async takeUnlessWaitedFor(wish: Wish): Promise<Lease | undefined> {
    const found = await this.ask(wish, { ticket: NO_TICKET, countsMs: 0, turnMs: TURN_MS });
    return 'lease' in found ? found.lease : undefined;
  }

  private async wait(wish: Wish, ending = new Ending()): Promise<Lease | undefined> {
    this.endings.add(ending);
    try {
      const waiting = this.lineOf(wish).wait(wish.until, ending, (ticket) => this.ask(wish, ticket));
      return await ending.race(waiting);
    } finally {
      this.endings.delete(ending);
    }
  }

  private lineOf({ name, key }: Wish): Line {
    const known = this.lines.get(key);
    if (known) return known;
    const ticket = this.owners.tokenFor(name);
    const keys = this.bothKeysOf(name);
    const line: Line = new Line({
      pollMs: this.options.pollMs,
      releases: new Releases(this.registry, name, key, () => line.released()),
      ticket,
      leave: () => this.inBackground(leave(this.registry, keys, ticket)),
      emptied: () => this.lines.delete(key),
    });
    this.lines.set(key, line);
    return line;
  }

  /** Asks Redis once. */
  private async ask(wish: Wish, ticket?: Ticket): Promise<Look> {
    this.refuseClosed();
    const { name, request } = wish;
    const keys = ticket ? this.bothKeysOf(name) : { lock: wish.key };
    const { leaseMs, replicas, replicasTimeoutMs } = request;
    const claim = new Claim(this.context, keys, this.owners.tokenFor(name));
    const sentAt = performance.now();
    const deadlineMs = this.deadlineOf(wish, sentAt);
    let answer: ClaimAnswer;
    this.asking += 1;
    try {
      answer = await claim.acquire({ leaseMs, replicas, replicasTimeoutMs, deadlineMs, ticket });
    } catch (error) {
      // Unless it is known not to have run, the lock may be ours without anybody to hold it.
      if (error instanceof UnknownOutcomeError) this.inBackground(claim.release());
      throw error;
    } finally {
      this.asking -= 1;
    }
    const { leftMs, fence, ahead = 0, copies = replicas } = answer;
    if (leftMs !== 0) return { leftMs, ahead };
    if (this.closed) this.inBackground(claim.release());
    this.refuseClosed();
    if (copies < replicas) {
      this.inBackground(claim.release());
      throw new LockNotReplicatedError(
        `Lock ${name} reached ${copies} of ${replicas} replicas in ${replicasTimeoutMs} ms.`,
      );
    }
    return this.hold(wish, claim, fence, sentAt);
  }

  /** How long Redis has to answer: until shortly after the caller's wait, and no longer than any call. */
  private deadlineOf({ request, until }: Wish, now: number): number {
    const { replicas, replicasTimeoutMs } = request;
    const replicasMs = replicas > 0 ? replicasTimeoutMs : 0;
    const leftMs = Math.max(0, Math.ceil(until - now));
    return Math.min(this.registry.deadlineMs, leftMs + this.options.redisTimeoutMs + replicasMs);
  }

  private bothKeysOf(name: string): LockKeys {
    const tag = this.space.tag(name);
    return { lock: tag.key('lock'), queue: tag.key('queue') };
  }

  private hold({ name, request }: Wish, claim: Claim, fence: number, sentAt: number): Look {
    const { leaseMs, renew } = request;
    const lease = new Lease({ name, fence, leaseMs, sentAt, renew, keeper: this.live }, claim);
    if (lease.held) return { lease };
    // The answer came when the lease was over already.
    this.inBackground(claim.release());
    return { leftMs: 1, ahead: 0 };
  }

  /** Lets a release run in the background; if it fails, what it would give up ends by itself. */
  private inBackground(release: Promise<unknown>): void {
    this.asking += 1;
    const ended = (): void => void (this.asking -= 1);
    release.then(ended, ended);
  }

  private refuseClosed(): void {
    if (this.closed) throw closedError();
  }
}

function closedError(): LockClosedError {
  return new LockClosedError('No lock was taken: the app is shutting down.');
}
