import type { Subscriber } from 'rxjs';
import type { ClaimResult, Mismatch, StoredResponse } from '../once.types';
import { IdempotencyException } from './idempotency.exception';
import { NO_VALUE } from './replay-placeholder';
import { rawOf, replayResponse, setHeader, type HttpResponse } from './response-recorder';

/** Name of the header that marks a replayed response. The value of the header is `true`. */
export const REPLAYED_HEADER = 'Idempotency-Replayed';

/** Result of claiming a key that was used before. */
export type RepeatResult = Exclude<ClaimResult, { readonly status: 'claimed' }> | Mismatch;

/**
 * Replies to a request whose idempotency key was used before: sends the stored response, or throws a refusal.
 *
 * @param header name of the header with the key, for the texts of refusals
 * @throws IdempotencyException if there is no stored response for this request
 */
export function answerRepeat(
  answer: RepeatResult,
  header: string,
  response: HttpResponse,
  subscriber: Subscriber<unknown>,
): void {
  if (answer.status === 'mismatch') {
    const detail = `The ${header} of this request was used before, for a request with another method, URL or content. For a new request, send a new key.`;
    throw new IdempotencyException('KEY_REUSED', detail);
  }
  if (answer.status === 'in-progress') {
    const seconds = Math.max(1, Math.ceil(answer.retryAfterMs / 1_000));
    if (!rawOf(response).headersSent) setHeader(response, 'Retry-After', String(seconds));
    throw new IdempotencyException(
      'IN_PROGRESS',
      `The first request with this ${header} is in progress. Send this request again after the seconds in Retry-After.`,
    );
  }
  if (!answer.confirmed) {
    const detail = `The first request with this ${header} was started, but may not have been finished. It is not run again. Look at what it did.`;
    throw new IdempotencyException('NOT_FINISHED', detail);
  }
  const stored = answer.result as StoredResponse | undefined;
  if (stored === undefined) {
    const detail = `The first request with this ${header} is done, but its response was not stored. Read what it did, and do not repeat it.`;
    throw new IdempotencyException('RESPONSE_NOT_KEPT', detail);
  }
  replayResponse(response, stored, REPLAYED_HEADER);
  subscriber.next(NO_VALUE);
  subscriber.complete();
}
