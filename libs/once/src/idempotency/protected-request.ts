import type { ServerResponse } from 'node:http';
import type { CallHandler } from '@nestjs/common';
import type { Subscriber, Subscription } from 'rxjs';
import { events, type OnceEvents } from '../once.events';
import type { HeldClaim, Run, Runs } from '../runs/runs';
import { hasLeft } from './http2-head';
import type { ResolvedRouteOptions } from './idempotency.options';
import { isInPieces, rawOf, tapResponse, type HttpResponse, type ResponseWatcher } from './response-recorder';
import { responseToStore, type EncodedResponse, type Headers, type SentResponse } from './stored-response';

export interface ProtectedRequestStart {
  /** Idempotency key of the request, as the client sent it. */
  readonly id: string;
  readonly held: HeldClaim;
  readonly route: ResolvedRouteOptions;
  readonly response: HttpResponse;
}

const noop = (): void => undefined;

type NotStored = OnceEvents['resultDropped']['reason'];

/**
 * One HTTP request with its claim. Runs the handler. Before the end of the response is sent, confirms the claim with the
 * response, or releases the claim. So the client gets the whole response only after that. There are three exceptions: Redis
 * fails, the response is sent in pieces, or other code, such as a timeout interceptor, replies while the handler runs.
 * See DECISIONS.md: response-stored-as-sent
 */
export class ProtectedRequest implements ResponseWatcher {
  readonly claim: Run;
  private readonly route: ResolvedRouteOptions;
  private readonly raw: ServerResponse;
  private readonly before: Headers;
  /**
   * Number of times that the handler was started. An interceptor that wraps this one may run the handler again, for example for a
   * retry. Until the claim is settled (confirmed or released), only the outcome of the last run counts.
   */
  private runNumber = 0;
  private state: 'running' | 'answered' | 'threw' = 'running';
  /** True if an interceptor that wraps this one, such as a timeout, has unsubscribed while the handler still runs. */
  private abandoned = false;
  private settled = false;

  constructor(
    private readonly runs: Runs,
    { id, held, route, response }: ProtectedRequestStart,
  ) {
    this.route = route;
    this.raw = rawOf(response);
    this.before = response.getHeaders();
    this.claim = runs.begin(id, held, () => this.settleIfClientLeft());
    tapResponse(this.raw, this);
  }

  /**
   * Runs the handler for a subscriber. If the subscriber unsubscribes before the first value, the handler is not stopped, unless
   * it has already sent a part of the response.
   */
  run(next: CallHandler, subscriber: Subscriber<unknown>): void {
    const runNumber = ++this.runNumber;
    this.state = 'running';
    this.abandoned = false;
    const source = this.subscribe(runNumber, next, subscriber);
    if (source.closed) return;
    subscriber.add(() => {
      if (runNumber !== this.runNumber || this.state !== 'running' || isInPieces(this.raw)) source.unsubscribe();
      else this.abandoned = true;
    });
  }

  private subscribe(runNumber: number, next: CallHandler, subscriber: Subscriber<unknown>): Subscription {
    return next.handle().subscribe({
      next: (value) => {
        if (runNumber === this.runNumber) this.state = 'answered';
        subscriber.next(value);
      },
      error: (error: unknown) => {
        this.finish(runNumber, 'threw');
        subscriber.error(error);
      },
      complete: () => {
        this.finish(runNumber, 'answered');
        subscriber.complete();
      },
    });
  }

  get maxStoredBytes(): number {
    return this.route.maxStoredBytes;
  }

  ending(sent: SentResponse | undefined, send: () => void): void {
    // Other code, such as a timeout interceptor, has sent this response while the handler still runs. The claim is settled when
    // the handler ends.
    if (this.abandoned) return send();
    const failed = this.state === 'threw' || this.raw.statusCode >= 500;
    this.settle(failed, sent, 'streamed', send);
  }

  private finish(runNumber: number, state: 'answered' | 'threw'): void {
    if (runNumber !== this.runNumber) return;
    this.state = state;
    if (this.abandoned) this.settle(state === 'threw', undefined, 'abandoned', noop);
  }

  /**
   * Settles the claim if the client has closed the connection and the handler has ended. Nest does not end the response in this
   * case, so `ending` is not called.
   */
  private settleIfClientLeft(): void {
    if (hasLeft(this.raw) && this.state !== 'running') this.settle(this.state === 'threw', undefined, 'streamed', noop);
  }

  /**
   * Settles the claim: confirms or releases it. Calls `then` after that, even if Redis failed. A second call only calls `then`.
   *
   * @param failed true if the handler threw, or the status is 500 or above
   * @param sent response to store; undefined if the whole response is not known
   * @param otherwise reason for the event `resultDropped` if `sent` is undefined
   * @param then sends the response
   */
  private settle(failed: boolean, sent: SentResponse | undefined, otherwise: NotStored, then: () => void): void {
    if (this.settled) return then();
    this.settled = true;
    void this.claim.settle();
    const ended = (): void => {
      this.runs.end(this.claim);
      then();
    };
    const fail = (error: unknown): void => {
      events.settlementFailed.publish(() => ({ error }));
      ended();
    };
    try {
      const { claim } = this.claim.claimed;
      const kept = !failed || this.route.storeErrors;
      const free = !kept && this.route.delivery === 'at-least-once';
      const settled: Promise<unknown> = free
        ? claim.release()
        : claim.confirm(kept ? this.toStore(sent, otherwise) : undefined);
      settled.then(ended, fail);
    } catch (error) {
      fail(error);
    }
  }

  /**
   * Returns the response to store; undefined if the response cannot be stored. The claim is confirmed in both cases, because the
   * request is done.
   */
  private toStore(sent: SentResponse | undefined, otherwise: NotStored): EncodedResponse | undefined {
    const stored = sent && responseToStore(sent, this.before, this.route.maxStoredBytes);
    if (stored === undefined) events.resultDropped.publish(() => ({ reason: sent ? 'too-large' : otherwise }));
    return stored;
  }
}
