import { Checks, type KnownOptions } from '../../internal/src';
import { InvalidOnceInputError } from './once.errors';
import { decodeResult, encodeResult } from './once.input';
import type { ResolvedOnceModuleOptions } from './once.options';
import { fenceOf, leaseEndsAtOf, type StoredAnswer } from './once.scripts';
import type { FullClaim, OnceStore } from './once.store';
import { KNOWN_TERMS, resolveTerms, type ResolvedTerms } from './once.terms';
import type { Claim, ClaimAnswer, RunOptions } from './once.types';

export type ClaimsOptions = Omit<ResolvedOnceModuleOptions, 'idempotency'>;

/** Parameters of a claim for a run, whose lease is renewed up to `maxLeaseMs`. */
export type FullRun = FullClaim & Pick<ResolvedTerms, 'maxLeaseMs'>;

const KNOWN: KnownOptions<RunOptions> = { ...KNOWN_TERMS, token: true };

const unknownOptions = new Checks('OnceService');
const input = new Checks('OnceService', (message) => new InvalidOnceInputError(message));

/** Claims ids for OnceService and for runs, with the options of the module as defaults. */
export class Claims {
  constructor(
    readonly store: OnceStore,
    readonly options: ClaimsOptions,
  ) {}

  /** Checks the options of a call and fills in the options of the module. @throws InvalidOnceInputError, InvalidOptionError */
  fill(options: RunOptions): FullRun {
    unknownOptions.options('', options, KNOWN);
    const terms = resolveTerms(options, this.options, input);
    return { ...terms, token: options.token ?? this.store.newToken(), fingerprint: '' };
  }

  /** Claims a key in Redis. @param id id that the returned claim has in its field `id` */
  async take(id: string, key: string, full: FullClaim): Promise<ClaimAnswer> {
    const answer = await this.store.claim(key, full);
    if (answer.status === 'in-progress') return { status: 'in-progress', retryAfterMs: Number(answer.text) };
    if (answer.status === 'claimed') return this.claimOf(id, key, full, answer);
    return { status: 'done', result: decodeResult(answer.text), confirmed: answer.status === 'done' };
  }

  /** Returns a result as the JSON that is stored. @throws OnceResultTooLargeError, InvalidOnceInputError */
  encode(result: unknown): string {
    return encodeResult(result, this.options.maxResultBytes);
  }

  private claimOf(id: string, key: string, full: FullClaim, answer: StoredAnswer): Claim {
    const { store } = this;
    const { token, leaseMs } = full;
    return {
      status: 'claimed',
      id,
      token,
      fence: fenceOf(answer),
      leaseEndsAtMs: leaseEndsAtOf(answer),
      renew: async (options = {}) => store.renew(key, token, options.leaseMs ?? leaseMs),
      confirm: async (result) => store.confirm(key, token, this.encode(result), full),
      release: async () => store.release(key, token),
    };
  }
}
