import type { ServerResponse } from 'node:http';
import type { CallHandler } from '@nestjs/common';
import type { Subscriber, Subscription } from 'rxjs';
import { events, type ResultDroppedEvent } from '../once.events';
import type { OnceStore } from '../once.store';
import type { Held, Run } from '../runs/run';
import type { Runs } from '../runs/runs';
import { hasLeft } from './http2-head';
import type { ResolvedRouteOptions } from './idempotency.options';
import { isInPieces, rawOf, tapResponse, type HttpResponse, type ResponseWatcher } from './response-recorder';
import { encodeResponse, type Headers, type SentResponse } from './stored-response';

/** What an exchange is made of. */
export interface ExchangeStart {
  /** The request's key, as its client knows it. */
  readonly id: string;
  readonly held: Held;
  readonly route: ResolvedRouteOptions;
  readonly response: HttpResponse;
}

const noop = (): void => undefined;

type NotStored = ResultDroppedEvent['reason'];

/**
 * One request under its claim: runs the handler, and settles the claim when the response is about to end, so that what a
 * client has seen is stored.
 * See DECISIONS.md: response-stored-as-sent
 */
export class Exchange implements ResponseWatcher {
  private readonly claim: Run;
  private readonly route: ResolvedRouteOptions;
  private readonly raw: ServerResponse;
  private readonly before: Headers;
  /** Which run of the handler counts: an interceptor outside may ask for another. */
  private turn = 0;
  private state: 'running' | 'answered' | 'threw' = 'running';
  /** Whether somebody outside answers in place of the handler, which still runs. */
  private abandoned = false;
  private settled = false;

  constructor(
    private readonly store: OnceStore,
    private readonly runs: Runs,
    { id, held, route, response }: ExchangeStart,
  ) {
    this.route = route;
    this.raw = rawOf(response);
    this.before = response.getHeaders();
    this.claim = runs.begin(id, held, () => this.look());
    tapResponse(this.raw, this);
  }

  /** Runs the handler for a subscriber; to its end, also when the subscriber leaves before it has answered. */
  run(next: CallHandler, subscriber: Subscriber<unknown>): void {
    const turn = ++this.turn;
    this.state = 'running';
    this.abandoned = false;
    const source = this.runs.within(this.claim, () => this.subscribe(turn, next, subscriber));
    if (source.closed) return;
    subscriber.add(() => {
      if (turn !== this.turn || this.state !== 'running' || isInPieces(this.raw)) source.unsubscribe();
      else this.abandoned = true;
    });
  }

  private subscribe(turn: number, next: CallHandler, subscriber: Subscriber<unknown>): Subscription {
    return next.handle().subscribe({
      next: (value) => {
        if (turn === this.turn) this.state = 'answered';
        subscriber.next(value);
      },
      error: (error: unknown) => {
        this.finish(turn, 'threw');
        subscriber.error(error);
      },
      complete: () => {
        this.finish(turn, 'answered');
        subscriber.complete();
      },
    });
  }

  get maxStoredBytes(): number {
    return this.route.maxStoredBytes;
  }

  ending(sent: SentResponse | undefined, send: () => void): void {
    // Not the handler's answer: a timeout outside, say. The claim waits for the handler.
    if (this.abandoned) return send();
    const failed = this.state === 'threw' || this.raw.statusCode >= 500;
    this.settle(failed, sent, 'streamed', send);
  }

  private finish(turn: number, state: 'answered' | 'threw'): void {
    if (turn !== this.turn) return;
    this.state = state;
    if (this.abandoned) this.settle(state === 'threw', undefined, 'abandoned', noop);
  }

  /** Settles a claim whose client has left, when nothing will end the response any more. */
  private look(): void {
    if (hasLeft(this.raw) && this.state !== 'running') this.settle(this.state === 'threw', undefined, 'streamed', noop);
  }

  /** The handler has spoken, so the client gets its answer, whatever becomes of the claim. */
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

  /** '' where the response cannot be kept: the key is done all the same. */
  private encode(sent: SentResponse | undefined, otherwise: NotStored): string {
    const stored = sent && encodeResponse(sent, this.before, this.route.maxStoredBytes);
    if (stored === undefined) events.resultDropped.publish(() => ({ reason: sent ? 'too-large' : otherwise }));
    return stored ?? '';
  }
}
