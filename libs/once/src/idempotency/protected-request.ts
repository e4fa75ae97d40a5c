import type { ServerResponse } from 'node:http';
import type { CallHandler } from '@nestjs/common';
import type { Subscriber, Subscription } from 'rxjs';
import { events, type ResultDroppedEvent } from '../once.events';
import type { OnceStore } from '../once.store';
import type { HeldClaim, Run } from '../runs/run';
import type { Runs } from '../runs/runs';
import { hasLeft } from './http2-head';
import type { ResolvedRouteOptions } from './idempotency.options';
import { isInPieces, rawOf, tapResponse, type HttpResponse, type ResponseWatcher } from './response-recorder';
import { encodeResponse, type Headers, type SentResponse } from './stored-response';

/** Parameters of a ProtectedRequest. */
export interface ProtectedRequestStart {
  /** Key of the request, as the client sends it. */
  readonly id: string;
  readonly held: HeldClaim;
  readonly route: ResolvedRouteOptions;
  readonly response: HttpResponse;
}

const noop = (): void => undefined;

type NotStored = ResultDroppedEvent['reason'];

/**
 * One request under its claim: runs the handler, and confirms or releases the claim before the response is sent, so that the
 * client never sees a response that is not stored.
 * See DECISIONS.md: response-stored-as-sent
 */
export class ProtectedRequest implements ResponseWatcher {
  private readonly claim: Run;
  private readonly route: ResolvedRouteOptions;
  private readonly raw: ServerResponse;
  private readonly before: Headers;
  /** Number of the last run of the handler, whose outcome counts: an interceptor outside may run the handler again. */
  private runNumber = 0;
  private state: 'running' | 'answered' | 'threw' = 'running';
  /** True if code outside, such as a timeout, has left the handler, which still runs. */
  private abandoned = false;
  private settled = false;

  constructor(
    private readonly store: OnceStore,
    private readonly runs: Runs,
    { id, held, route, response }: ProtectedRequestStart,
  ) {
    this.route = route;
    this.raw = rawOf(response);
    this.before = response.getHeaders();
    this.claim = runs.begin(id, held, () => this.settleIfClientLeft());
    tapResponse(this.raw, this);
  }

  /** Runs the handler for a subscriber. The handler runs to its end even if the subscriber leaves before its first value. */
  run(next: CallHandler, subscriber: Subscriber<unknown>): void {
    const runNumber = ++this.runNumber;
    this.state = 'running';
    this.abandoned = false;
    const source = this.runs.within(this.claim, () => this.subscribe(runNumber, next, subscriber));
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
    // This response is not from the handler, but from a timeout outside, for example. The claim waits for the handler.
    if (this.abandoned) return send();
    const failed = this.state === 'threw' || this.raw.statusCode >= 500;
    this.settle(failed, sent, 'streamed', send);
  }

  private finish(runNumber: number, state: 'answered' | 'threw'): void {
    if (runNumber !== this.runNumber) return;
    this.state = state;
    if (this.abandoned) this.settle(state === 'threw', undefined, 'abandoned', noop);
  }

  /** Settles the claim if the client has left and the handler has replied: then nothing ends the response. */
  private settleIfClientLeft(): void {
    if (hasLeft(this.raw) && this.state !== 'running') this.settle(this.state === 'threw', undefined, 'streamed', noop);
  }

  /** Confirms or releases the claim, then calls `then`, which sends the response: also if Redis fails. @param otherwise reason of an event if `sent` is undefined */
  private settle(failed: boolean, sent: SentResponse | undefined, otherwise: NotStored, then: () => void): void {
    if (this.settled) return then();
    this.settled = true;
    this.claim.settle();
    const ended = (): void => {
      this.runs.end(this.claim);
      then();
    };
    const fail = (error: unknown): void => {
      events.settlementFailed.publish(() => ({ error }));
      ended();
    };
    try {
      const { key, token } = this.claim.held;
      const kept = !failed || this.route.storeErrors;
      const free = !kept && this.route.delivery === 'at-least-once';
      const settled: Promise<unknown> = free
        ? this.store.release(key, token)
        : this.store.confirm(key, token, kept ? this.encode(sent, otherwise) : '', this.route);
      settled.then(ended, fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Encodes the response, or '' if it cannot be stored: the key is done all the same. */
  private encode(sent: SentResponse | undefined, otherwise: NotStored): string {
    const stored = sent && encodeResponse(sent, this.before, this.route.maxStoredBytes);
    if (stored === undefined) events.resultDropped.publish(() => ({ reason: sent ? 'too-large' : otherwise }));
    return stored ?? '';
  }
}
