import { isUnfinished } from '../../internal/src';
import { performance } from 'node:perf_hooks';
import { setTimeout as after } from 'node:timers/promises';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { OnceResultTooLargeError } from './once.errors';
import { events } from './once.events';
import { checkDelivery, decodeResult, encodeResult } from './once.input';
import { LeaseRenewal } from './once.renewal';
import type { ResolvedOnceOptions } from './once.options';
import { fenceOf, leaseUntilOf } from './once.scripts';
import type { ClaimKind, FullClaim, OnceStore, StoredAnswer } from './once.store';
import type {
  Claim,
  ClaimAnswer,
  ClaimOptions,
  ConfirmAnswer,
  ReleaseAnswer,
  RenewAnswer,
  RunAnswer,
  RunningClaim,
} from './once.types';

type Settings = Pick<ResolvedOnceOptions, 'leaseMs' | 'retentionMs' | 'delivery' | 'maxResultBytes' | 'drainTimeoutMs'>;

/**
 * Lets one of many callers do a thing, and remembers that it was done.
 *
 * Nothing is exactly once without the receiver's help: hand it the id, so that it knows a repeat, or the fence.
 */
export class OnceService implements BeforeApplicationShutdown {
  private readonly running = new Set<Promise<unknown>>();

  constructor(
    private readonly store: OnceStore,
    private readonly options: Settings,
  ) {}

  /**
   * Takes an id for a lease, unless another has it or it is done.
   *
   * @throws InvalidOnceInputError before anything is sent
   */
  async claim(id: string, options: ClaimOptions = {}): Promise<ClaimAnswer> {
    return this.claimAs('claim', id, options);
  }

  /**
   * Lets an owner's lease run anew from now.
   *
   * @param options leaseMs; default the module's
   * @throws InvalidOnceInputError before anything is sent
   */
  async renew(id: string, token: string, options: { readonly leaseMs?: number } = {}): Promise<RenewAnswer> {
    return this.store.renew(this.store.keyOf(id), token, options.leaseMs ?? this.options.leaseMs);
  }

  /**
   * Marks an id as done, for the retention that it was claimed with.
   *
   * @param result JSON data for those who ask again; at most `maxResultBytes`. Default none
   * @throws OnceResultTooLargeError, InvalidOnceInputError before anything is sent
   */
  async confirm(id: string, token: string, result?: unknown): Promise<ConfirmAnswer> {
    return this.store.confirm(this.store.keyOf(id), token, encodeResult(result, this.options.maxResultBytes));
  }

  /** Gives an id back, undone, for anybody to claim. @throws InvalidOnceInputError before anything is sent */
  async release(id: string, token: string): Promise<ReleaseAnswer> {
    return this.store.release(this.store.keyOf(id), token);
  }

  /**
   * Remembers an id and answers true to the first call: at most once, in one command, with no lease and no result.
   *
   * @param options retentionMs, default the module's; a token, with which a repeat of the first call answers true again
   * @throws InvalidOnceInputError before anything is sent
   */
  first(id: string, options: Pick<ClaimOptions, 'retentionMs' | 'token'> = {}): Promise<boolean> {
    // One promise a call, the registry's: another for each level shows at this rate.
    try {
      const { token, retentionMs } = options;
      return this.store.first(id, token ?? this.store.newToken(), retentionMs ?? this.options.retentionMs);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Runs work under a claim that is renewed until it ends, and confirms what it returns.
   *
   * Work that throws, or resolves with what says that it is not done (`UNFINISHED`), leaves the id free with
   * `at-least-once`, and done with `at-most-once`; the error is thrown on.
   *
   * @throws InvalidOnceInputError before anything is sent, and what the work throws
   */
  run<T>(
    id: string,
    options: ClaimOptions,
    work: (claim: RunningClaim) => T | PromiseLike<T>,
  ): Promise<RunAnswer<Awaited<T>>> {
    return this.runAs('claim', id, options, work);
  }

  /** As `run`, for ids that no other claims meet but those of the same kind. */
  runAs<T>(
    kind: ClaimKind,
    id: string,
    options: ClaimOptions,
    work: (claim: RunningClaim) => T | PromiseLike<T>,
  ): Promise<RunAnswer<Awaited<T>>> {
    const run = this.runClaimed(kind, id, options, work);
    this.running.add(run);
    const forget = (): void => void this.running.delete(run);
    run.then(forget, forget);
    return run;
  }

  /** Waits for work under `run`, so that it can still be confirmed. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.running.size === 0) return;
    const stop = new AbortController();
    const limit = after(this.options.drainTimeoutMs, undefined, { signal: stop.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(this.running), limit]);
    stop.abort();
  }

  private async claimAs(kind: ClaimKind, id: string, options: ClaimOptions): Promise<ClaimAnswer> {
    const full = this.fill(options);
    const key = this.store.keyOf(id, kind);
    const answer = await this.store.claim(key, full);
    if (answer.status === 'in-progress') return { status: 'in-progress', retryAfterMs: Number(answer.text) };
    if (answer.status === 'claimed') return this.handle(id, key, full, answer);
    return { status: 'done', result: decodeResult(answer.text), confirmed: answer.status === 'done' };
  }

  private async runClaimed<T>(
    kind: ClaimKind,
    id: string,
    options: ClaimOptions,
    work: (claim: RunningClaim) => T | PromiseLike<T>,
  ): Promise<RunAnswer<Awaited<T>>> {
    const { leaseMs, delivery } = this.fill(options);
    const claimedAt = performance.now();
    const claim = await this.claimAs(kind, id, options);
    if (claim.status === 'in-progress') return claim;
    if (claim.status === 'done') {
      return { status: 'duplicate', result: claim.result as Awaited<T>, confirmed: claim.confirmed };
    }
    const renewal = new LeaseRenewal(() => claim.renew(), leaseMs, claimedAt);
    let result: Awaited<T>;
    try {
      result = await work({ ...claim, signal: renewal.signal });
    } catch (error) {
      renewal.stop();
      await this.settleFailure(claim, delivery);
      throw error;
    }
    renewal.stop();
    if (isUnfinished(result)) {
      await this.settleFailure(claim, delivery);
      return { status: 'ran', result, confirmed: false };
    }
    const { status } = await this.store.confirm(this.store.keyOf(id, kind), claim.token, this.encodeWhatFits(result));
    return { status: 'ran', result, confirmed: status === 'confirmed' };
  }

  /** The work's own error is what the caller must see, so Redis' is only published. */
  private async settleFailure(claim: Claim, delivery: string): Promise<void> {
    try {
      await (delivery === 'at-most-once' ? claim.confirm() : claim.release());
    } catch (error) {
      events.settleFailed.publish(() => ({ error }));
    }
  }

  /** The work has happened: a result that cannot be stored must not keep it from being confirmed. */
  private encodeWhatFits(result: unknown): string {
    try {
      return encodeResult(result, this.options.maxResultBytes);
    } catch (error) {
      const reason = error instanceof OnceResultTooLargeError ? 'too-large' : 'not-json';
      events.resultNotStored.publish(() => ({ reason }));
      return '';
    }
  }

  private fill(options: ClaimOptions): FullClaim {
    return {
      token: options.token ?? this.store.newToken(),
      leaseMs: options.leaseMs ?? this.options.leaseMs,
      retentionMs: options.retentionMs ?? this.options.retentionMs,
      delivery: checkDelivery(options.delivery ?? this.options.delivery),
      fingerprint: '',
    };
  }

  private handle(id: string, key: string, { token, leaseMs }: FullClaim, answer: StoredAnswer): Claim {
    const { store } = this;
    return {
      status: 'claimed',
      id,
      token,
      fence: fenceOf(answer),
      leaseUntilMs: leaseUntilOf(answer),
      renew: async (options = {}) => store.renew(key, token, options.leaseMs ?? leaseMs),
      confirm: async (result) => store.confirm(key, token, encodeResult(result, this.options.maxResultBytes)),
      release: async () => store.release(key, token),
    };
  }
}
