import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import type { Subscriber } from 'rxjs';
import type { StoredAnswer } from '../once.store';
import { IdempotencyException } from './idempotency.exception';
import { NO_VALUE } from './replay-placeholder';
import { rawOf, replayResponse, setHeader, type HttpResponse } from './response-recorder';
import { decodeResponse } from './stored-response';

/** Set on a response that was answered from the store. */
export const REPLAYED_HEADER = 'Idempotency-Replayed';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** The pauses of a repeat that waits for the first request to end. */
export class Waiting {
  private readonly until: number;
  private pauseMs = FIRST_PAUSE_MS;

  /** @param waitMs how long all pauses together last; 0 for none */
  constructor(waitMs: number) {
    this.until = performance.now() + waitMs;
  }

  /** Waits until it is time to ask again; returns false when the time is over. */
  async pause(): Promise<boolean> {
    const leftMs = this.until - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(this.pauseMs, leftMs));
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
    return true;
  }
}

/**
 * Answers a request whose key is taken: replays what is stored.
 *
 * @param header name of the key's header, for the client
 * @throws IdempotencyException where there is nothing to replay
 */
export function answerRepeat(
  answer: StoredAnswer,
  header: string,
  response: HttpResponse,
  subscriber: Subscriber<unknown>,
): void {
  if (answer.status === 'mismatch') {
    throw new IdempotencyException('KEY_REUSED', `This ${header} was used with another request. Send a new key.`);
  }
  if (answer.status === 'in-progress') {
    const seconds = Math.max(1, Math.ceil(Number(answer.text) / 1_000));
    if (!rawOf(response).headersSent) setHeader(response, 'Retry-After', String(seconds));
    throw new IdempotencyException('IN_PROGRESS', `A request with this ${header} is in progress. Send it again later.`);
  }
  if (answer.status === 'abandoned') {
    const detail = `A request with this ${header} was begun and not finished. It will not be run again.`;
    throw new IdempotencyException('NOT_FINISHED', detail);
  }
  const stored = decodeResponse(answer.text);
  if (stored === undefined) {
    const detail = `The request with this ${header} was done. Its response was not kept.`;
    throw new IdempotencyException('RESPONSE_NOT_KEPT', detail);
  }
  replayResponse(response, stored, REPLAYED_HEADER);
  subscriber.next(NO_VALUE);
  subscriber.complete();
}
