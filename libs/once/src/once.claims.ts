import { UnknownOutcomeError } from 'luanest/script-registry';
import { Checks, type KnownOptions, InvalidInputError } from '../../internal/src';
import { decodeResponse, encodeStored, EncodedResponse } from './idempotency/stored-response';
import { decodeResult, encodeResult, resultTooLarge } from './once.input';
import type { ResolvedOnceModuleOptions } from './once.options';
import { fenceOf, leaseEndsAtOf, type StoredReply } from './once.scripts';
import type { FullClaim, OnceStore } from './once.store';
import { locate, type Located } from './once.targets';
import { KNOWN_TERMS, resolveTerms, type ResolvedTerms } from './once.terms';
import type {
  Claim,
  ClaimResult,
  ConfirmResult,
  Mismatch,
  OnceTarget,
  PeekResult,
  ReleaseResult,
  RenewResult,
  RunOptions,
  StoredResponse,
} from './once.types';

export type ClaimsOptions = Omit<ResolvedOnceModuleOptions, 'idempotency'>;

/** Parameters of a claim whose lease is renewed while the work runs, for up to `maxLeaseMs`. */
export type FullRun = FullClaim & Pick<ResolvedTerms, 'maxLeaseMs'>;

const KNOWN: KnownOptions<RunOptions> = { ...KNOWN_TERMS, token: true };

const unknownOptions = new Checks('OnceService');
const input = new Checks('OnceService', (message) => new InvalidInputError(message));

/** Claims ids for OnceService. The options of the module are the defaults. */
export class Claims {
  /**
   * Checked options by object, for options that are frozen, such as those of a route. They cannot change, so they are checked only once.
   */
  private readonly resolved = new WeakMap<RunOptions, ResolvedTerms>();

  constructor(
    readonly store: OnceStore,
    readonly options: ClaimsOptions,
  ) {}

  /**
   * Checks the options of a call, and fills in the missing ones from the options of the module.
   *
   * @throws InvalidInputError, InvalidOptionError
   */
  fill(options: RunOptions, fingerprint = ''): FullRun {
    const terms = this.resolved.get(options) ?? this.resolve(options);
    const { leaseMs, maxLeaseMs, retentionMs, delivery, replicas, replicasTimeoutMs } = terms;
    const token = options.token ?? this.store.newToken();
    return { leaseMs, maxLeaseMs, retentionMs, delivery, replicas, replicasTimeoutMs, token, fingerprint };
  }

  /**
   * Claims an id in Redis.
   *
   * @param freed true: if it is unknown whether the claim was made, release it. Nobody else could do that, because only this call knows the
   *   token
   */
  take(located: Located, full: FullClaim, freed: boolean): Promise<ClaimResult | Mismatch> {
    return this.store.claim(located.key, full).then(
      (answer) => this.answerOf(located, full, answer),
      (error: unknown) => {
        // ioredis may still send the claim. The release is sent after it, so the id becomes free.
        if (freed && error instanceof UnknownOutcomeError) void this.store.giveBack(located.key, full.token);
        throw error;
      },
    );
  }

  /** Returns a result as JSON for Redis. @throws InvalidInputError */
  encode(result: unknown): string {
    return encodeResult(result, this.options.maxResultBytes);
  }

  private resolve(options: RunOptions): ResolvedTerms {
    unknownOptions.options('', options, KNOWN);
    // Most calls use the module's options, which were checked at boot.
    const { leaseMs, retentionMs, delivery } = options;
    if ((leaseMs ?? retentionMs ?? delivery) == null) return this.options;
    const terms = resolveTerms(options, this.options, input);
    if (Object.isFrozen(options)) this.resolved.set(options, terms);
    return terms;
  }

  private answerOf(located: Located, full: FullClaim, answer: StoredReply): ClaimResult | Mismatch {
    const { status, text } = answer;
    if (status === 'claimed') return new OwnClaim(this, located, full, answer);
    if (status === 'in-progress') return { status, retryAfterMs: Number(text) };
    if (status === 'mismatch') return { status };
    const result = located.isRequest ? decodeResponse(text) : decodeResult(text);
    return { status: 'done', result, confirmed: status === 'done' };
  }
}

/** A claim that the caller owns. This is a class, because new functions for each claim would cost more. */
class OwnClaim implements Claim {
  readonly status = 'claimed';
  readonly id: string;
  readonly token: string;
  readonly fence: number;
  readonly leaseEndsAtMs: number;
  readonly #claims: Claims;
  readonly #located: Located;
  readonly #full: FullClaim;

  constructor(claims: Claims, located: Located, full: FullClaim, answer: StoredReply) {
    this.id = located.id;
    this.token = full.token;
    this.fence = fenceOf(answer);
    this.leaseEndsAtMs = leaseEndsAtOf(answer);
    this.#claims = claims;
    this.#located = located;
    this.#full = full;
  }

  /** @param options `leaseMs`; and `deadlineMs`, which is set for the automatic renewals of `OnceService.run` */
  async renew(options: { readonly leaseMs?: number; readonly deadlineMs?: number } = {}): Promise<RenewResult> {
    const { leaseMs = this.#full.leaseMs, deadlineMs } = options;
    return this.#claims.store.renew(this.#located.key, this.token, leaseMs, this.#full, deadlineMs);
  }

  // An async method would create one more promise per call. For an invalid result, the returned promise still rejects.
  confirm(result?: unknown): Promise<ConfirmResult> {
    const { store, options } = this.#claims;
    try {
      const { isRequest, key } = this.#located;
      const text = isRequest ? encodedResponse(result, options.maxResultBytes) : this.#claims.encode(result);
      return store.confirm(key, this.token, text, this.#full);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  release(): Promise<ReleaseResult> {
    return this.#claims.store.release(this.#located.key, this.token);
  }
}

function encodedResponse(response: unknown, maxBytes: number): string {
  if (response === undefined) return '';
  if (response instanceof EncodedResponse) return response.text;
  if (typeof response !== 'object' || response === null || !('headers' in response)) {
    throw input.error(
      'The claim is that of a request, but the confirmed result is not a response. Confirm with a StoredResponse: status, headers and body.',
    );
  }
  const text = encodeStored(response as StoredResponse, maxBytes);
  if (text === undefined) throw resultTooLarge(Buffer.byteLength((response as StoredResponse).body), maxBytes);
  return text;
}

/**
 * Reads the state of an id, a message or a request.
 *
 * @throws InvalidInputError for an invalid target; nothing is sent then
 */
export async function peekAt(store: OnceStore, target: string | OnceTarget): Promise<PeekResult> {
  const { key, isRequest } = locate(store, target);
  const { status, fence, leaseEndsAtMs, expiresAtMs, result } = await store.peek(key);
  if (status === 'unknown') return { status };
  if (status === 'in-progress') return { status, fence, startedAtMs: Math.floor(fence / 1_000), leaseEndsAtMs };
  const decode = isRequest ? decodeResponse : decodeResult;
  return {
    status: 'done',
    result: status === 'done' ? decode(result) : undefined,
    confirmed: status === 'done',
    expiresAtMs: expiresAtMs === -1 ? undefined : expiresAtMs,
  };
}
