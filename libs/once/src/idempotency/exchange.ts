import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { CallHandler } from '@nestjs/common';
import type { Subscriber } from 'rxjs';
import { events, type ResultNotStoredEvent } from '../once.events';
import type { ResolvedRouteOptions } from '../once.options';
import type { OnceStore } from '../once.store';
import { hasLeft } from './http2-head';
import type { Lease, LeaseRounds } from './lease-rounds';
import { isInPieces, rawOf, tapResponse, type HttpResponse, type ResponseWatcher } from './response-tap';
import { encodeResponse, type Headers, type SentResponse } from './stored-response';

/** A route's settings with nothing left out, and who renews its leases. */
export interface Route extends ResolvedRouteOptions {
  readonly rounds: LeaseRounds;
}

/** What a claim was made with. */
export interface Held {
  readonly key: string;
  readonly token: string;
  /** `performance.now()` from before the claim was sent. */
  readonly claimedAt: number;
}

const noop = (): void => undefined;

type NotStored = ResultNotStoredEvent['reason'];

/**
 * One request under its claim: runs the handler, and settles the claim when the response is about to end, so that what a
 * client has seen is stored.
 * See DECISIONS.md: response-stored-as-sent
 */
export class Exchange implements ResponseWatcher, Lease {
  renewAt = 0;
  place = -1;
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
    private readonly held: Held,
    private readonly route: Route,
    response: HttpResponse,
  ) {
    this.raw = rawOf(response);
    this.before = response.getHeaders();
    route.rounds.add(this, held.claimedAt);
    tapResponse(this.raw, this);
  }

  /** Runs the handler for a subscriber; to its end, also when the subscriber leaves before it has answered. */
  run(next: CallHandler, subscriber: Subscriber<unknown>): void {
    const turn = ++this.turn;
    this.state = 'running';
    this.abandoned = false;
    const source = next.handle().subscribe({
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
    if (source.closed) return;
    subscriber.add(() => {
      if (turn !== this.turn || this.state !== 'running' || isInPieces(this.raw)) source.unsubscribe();
      else this.abandoned = true;
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

  async renew(): Promise<boolean> {
    // A handler that never ends must not keep its key for ever.
    if (this.settled || performance.now() - this.held.claimedAt >= this.route.maxLeaseMs) return false;
    if (!hasLeft(this.raw) || this.state === 'running') {
      return (await this.store.renew(this.held.key, this.held.token, this.route.leaseMs)).status === 'renewed';
    }
    // The client has left, and nothing will end the response any more.
    this.settle(this.state === 'threw', undefined, 'streamed', noop);
    return false;
  }

  /** The handler has spoken, so the client gets its answer, whatever becomes of the claim. */
  private settle(failed: boolean, sent: SentResponse | undefined, otherwise: NotStored, then: () => void): void {
    if (this.settled) return then();
    this.settled = true;
    this.route.rounds.remove(this);
    const fail = (error: unknown): void => {
      events.settleFailed.publish(() => ({ error }));
      then();
    };
    try {
      const { key, token } = this.held;
      const kept = !failed || this.route.storeErrors;
      const free = !kept && this.route.delivery === 'at-least-once';
      const settled: Promise<unknown> = free
        ? this.store.release(key, token)
        : this.store.confirm(key, token, kept ? this.encode(sent, otherwise) : '');
      settled.then(then, fail);
    } catch (error) {
      fail(error);
    }
  }

  /** '' where the response cannot be kept: the key is done all the same. */
  private encode(sent: SentResponse | undefined, otherwise: NotStored): string {
    const stored = sent && encodeResponse(sent, this.before, this.route.maxStoredBytes);
    if (stored === undefined) events.resultNotStored.publish(() => ({ reason: sent ? 'too-large' : otherwise }));
    return stored ?? '';
  }
}
