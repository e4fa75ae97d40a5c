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
 * Runs the handler of a request under its claim. Before the response is sent, stores it in Redis, or releases the claim after a failure. So
 * a client that has the whole response can rely on it, with three exceptions: Redis fails, the response is sent in pieces, or other code,
 * such as a timeout interceptor, replies while the handler runs.
 * See DECISIONS.md: response-stored-as-sent
 */
export class ProtectedRequest implements ResponseWatcher {
  readonly claim: Run;
  private readonly route: ResolvedRouteOptions;
  private readonly raw: ServerResponse;
  private readonly before: Headers;
  /**
   * How often the handler was started. An outer interceptor may run the handler again, for example as a retry. Until the claim is confirmed
   * or released, only the last run counts.
   */
  private runNumber = 0;
  private state: 'running' | 'answered' | 'threw' = 'running';
  /** True if an outer interceptor, such as a timeout, has unsubscribed while the handler was running. */
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
   * Runs the handler for a subscriber. If the subscriber unsubscribes before the first value, the handler goes on, unless it has sent a
   * part of the response already.
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
    // Other code, such as a timeout interceptor, sends this response while the handler runs. The claim is confirmed or released when the
    // handler ends.
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
   * Ends the claim if the client has closed the connection and the handler has ended. Nest does not end the response then, so `ending` is
   * not called.
   */
  private settleIfClientLeft(): void {
    if (hasLeft(this.raw) && this.state !== 'running') this.settle(this.state === 'threw', undefined, 'streamed', noop);
  }

  /**
   * Ends the claim: confirms it after success, releases it after a failure. Then calls `then`, even if Redis failed. A second call only
   * calls `then`.
   *
   * @param failed true if the handler threw, or the status is 500 or above
   * @param sent response to store; undefined if the whole response is not known
   * @param otherwise reason for the event `resultDropped` if `sent` is undefined
   * @param then function that sends the response
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
   * Returns the response in the form in which it is stored; undefined if it cannot be stored. The claim is confirmed in both cases, because
   * the work is done.
   */
  private toStore(sent: SentResponse | undefined, otherwise: NotStored): EncodedResponse | undefined {
    const stored = sent && responseToStore(sent, this.before, this.route.maxStoredBytes);
    if (stored === undefined) events.resultDropped.publish(() => ({ reason: sent ? 'too-large' : otherwise }));
    return stored;
  }
}
