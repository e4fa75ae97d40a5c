import { performance } from 'node:perf_hooks';
import {
  Inject,
  Injectable,
  Logger,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { InvalidOptionError } from '../../../internal/src';
import { Observable, type Subscriber } from 'rxjs';
import { events } from '../once.events';
import {
  resolveRoute,
  type IdempotencyRouteOptions,
  type ResolvedIdempotencyOptions,
  type ResolvedOnceOptions,
  type Subject,
} from '../once.options';
import { OnceStore, type FullClaim, type StoredAnswer } from '../once.store';
import { ONCE_OPTIONS } from '../once.tokens';
import { Exchange, type Held, type Route } from './exchange';
import { hasLeft } from './http2-head';
import { IdempotencyException } from './idempotency.exception';
import { notHttp } from './idempotency.explorer';
import { LeaseRounds } from './lease-rounds';
import { IDEMPOTENT } from './idempotency.tokens';
import type { HttpRequest } from './request-body';
import { fingerprintOf, idOf, readKey, subjectOf } from './request-identity';
import { answerRepeat, Waiting } from './repeat';
import { rawOf, setHeader, type HttpResponse } from './response-tap';

/** On a request: its exchange, or that it passes unprotected. Bound twice, the interceptor must not meet its own claim. */
const SEEN = Symbol('luanest:idempotency-seen');
type Request = HttpRequest & { [SEEN]?: Exchange | 'unprotected' };

/** A handler's settings, and whether it or its controller carries the decorator. */
interface Covered {
  readonly settings: Route;
  readonly decorated: boolean;
}

/** One request on its way to a claim. */
interface Asked {
  readonly request: Request;
  readonly response: HttpResponse;
  readonly next: CallHandler;
  readonly route: Route;
  readonly key: string;
}

/**
 * Answers a repeat of a request from what was stored of the first, by the request's `Idempotency-Key`.
 *
 * Routes under `@Idempotent()` as that says; where the interceptor is bound otherwise, POST and PATCH.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly settings: ResolvedIdempotencyOptions;
  /** By controller and handler: both may carry the decorator, and a handler may be inherited. */
  private readonly routes = new Map<object, Map<object, Covered>>();
  private readonly rounds = new Map<number, LeaseRounds>();
  private readonly logger = new Logger('OnceModule');
  /** Handlers whose requests could not be compared; each is logged once. */
  private readonly warned = new WeakSet<object>();

  /** @throws InvalidOptionError when the module has no `idempotency` settings */
  constructor(
    @Inject(ONCE_OPTIONS) options: ResolvedOnceOptions,
    @Inject(OnceStore) private readonly store: OnceStore,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {
    if (options.idempotency === undefined) {
      throw new InvalidOptionError(
        'idempotency is undefined, so whose keys they are is unknown. Give OnceModule.forRoot({ idempotency: { subject } }).',
      );
    }
    this.settings = options.idempotency;
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return this.passMessage(context, next);
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const seen = request[SEEN];
    if (seen === 'unprotected') return next.handle();
    if (seen !== undefined) return new Observable((subscriber) => seen.run(next, subscriber));
    const route = this.routeOf(context, request.method);
    if (route === undefined) return next.handle();
    const response = http.getResponse<HttpResponse>();
    return new Observable((subscriber) => {
      const refuse = (error: unknown): void => {
        if (error instanceof IdempotencyException) this.prepare(error, response, context);
        subscriber.error(error);
      };
      try {
        const key = this.keyOf(request, route);
        if (key === undefined) {
          request[SEEN] = 'unprotected';
          subscriber.add(next.handle().subscribe(subscriber));
        } else this.start({ request, response, next, route, key }, subscriber, refuse);
      } catch (error) {
        refuse(error);
      }
    });
  }

  /** Messages have no key in a header: bound to all handlers, the interceptor lets them pass. */
  private passMessage(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride(IDEMPOTENT, targets) === undefined) return next.handle();
    throw notHttp(`${context.getClass().name}.${context.getHandler().name}`);
  }

  /** A refusal is a problem of RFC 9457; one that the route's author can prevent is logged once. */
  private prepare({ code, cause }: IdempotencyException, response: HttpResponse, context: ExecutionContext): void {
    if (!rawOf(response).headersSent) setHeader(response, 'Content-Type', 'application/problem+json');
    const handler = context.getHandler();
    if (code !== 'BODY_NOT_COMPARABLE' || this.warned.has(handler)) return;
    this.warned.add(handler);
    this.logger.warn(
      `A request to ${context.getClass().name}.${handler.name} carries ${(cause as Error).message}, which cannot be ` +
        'compared with a repeat, so it was answered 415. Parse the body before the route, or give @Idempotent() a ' +
        'fingerprint. Logged once.',
    );
  }

  /** Undefined for what is not covered. */
  private routeOf(context: ExecutionContext, method: string): Route | undefined {
    const [handler, controller] = [context.getHandler(), context.getClass()];
    let routes = this.routes.get(controller);
    if (routes === undefined) {
      routes = new Map<object, Covered>();
      this.routes.set(controller, routes);
    }
    let route = routes.get(handler);
    if (route === undefined) {
      const targets = [handler, controller];
      const asked = this.reflector.getAllAndOverride<IdempotencyRouteOptions | undefined>(IDEMPOTENT, targets);
      const settings = resolveRoute(asked ?? {}, this.settings);
      route = { settings: { ...settings, rounds: this.roundsOf(settings.leaseMs) }, decorated: asked !== undefined };
      routes.set(handler, route);
    }
    return route.decorated || method === 'POST' || method === 'PATCH' ? route.settings : undefined;
  }

  private roundsOf(leaseMs: number): LeaseRounds {
    let rounds = this.rounds.get(leaseMs);
    if (rounds === undefined) {
      rounds = new LeaseRounds(leaseMs);
      this.rounds.set(leaseMs, rounds);
    }
    return rounds;
  }

  private keyOf(request: Request, { required }: Route): string | undefined {
    const { header } = this.settings;
    const key = readKey(request.headers[header.toLowerCase()]);
    if (key === null) {
      throw new IdempotencyException('KEY_INVALID', `${header} must be one key of 1 to 255 visible ASCII characters.`);
    }
    if (key === undefined && required) {
      throw new IdempotencyException(
        'KEY_MISSING',
        `${header} is missing. Send a new one with each new request, such as a UUID.`,
      );
    }
    return key;
  }

  private start(asked: Asked, subscriber: Subscriber<unknown>, refuse: (error: unknown) => void): void {
    const known = this.settings.subject(asked.request);
    // Most resolvers answer at once, and a promise less a request shows.
    if (typeof known !== 'object' || known === null) this.identify(asked, known, subscriber, refuse);
    else known.then((subject) => this.identify(asked, subject, subscriber, refuse)).catch(refuse);
  }

  private identify(
    asked: Asked,
    known: Subject | null | undefined,
    subscriber: Subscriber<unknown>,
    refuse: (error: unknown) => void,
  ): void {
    const subject = subjectOf(known);
    const fingerprint = fingerprintOf(asked.request, subject, asked.route.fingerprint);
    const claim = (text: string): Promise<void> => this.claim(asked, subject, text, subscriber);
    if (typeof fingerprint === 'string') claim(fingerprint).catch(refuse);
    else fingerprint.then(claim).catch(refuse);
  }

  private async claim(
    asked: Asked,
    subject: string,
    fingerprint: string,
    subscriber: Subscriber<unknown>,
  ): Promise<void> {
    const { request, response, route, next } = asked;
    const { leaseMs, retentionMs, delivery } = route;
    const claim: FullClaim = { token: this.store.newToken(), leaseMs, retentionMs, delivery, fingerprint };
    const key = this.store.keyOf(idOf(subject, asked.key), 'request');
    const held = { key, token: claim.token, claimedAt: performance.now() };
    const waiting = new Waiting(route.onInProgress === 'wait' ? route.waitMs : 0);
    for (;;) {
      let answer: StoredAnswer;
      try {
        held.claimedAt = performance.now();
        answer = await this.store.claim(key, claim);
      } catch (error) {
        // The client may send the claim again when Redis is back, for nobody: a release behind it frees the key.
        if (error instanceof UnknownOutcomeError) void this.giveBack(held);
        return this.withoutClaim(error, asked, subscriber);
      }
      if (answer.status === 'claimed') {
        if (subscriber.closed) return this.giveBack(held);
        const exchange = new Exchange(this.store, held, route, response);
        request[SEEN] = exchange;
        return exchange.run(next, subscriber);
      }
      const there = !subscriber.closed && !hasLeft(rawOf(response));
      if (answer.status !== 'in-progress' || !there || !(await waiting.pause())) {
        return answerRepeat(answer, this.settings.header, response, subscriber);
      }
    }
  }

  /** Whoever claimed will not run the handler. */
  private async giveBack({ key, token }: Held): Promise<void> {
    try {
      await this.store.release(key, token);
    } catch (error) {
      events.settleFailed.publish(() => ({ error }));
    }
  }

  /** Redis does not answer: the handler runs all the same where that was chosen. */
  private withoutClaim(error: unknown, { request, next }: Asked, subscriber: Subscriber<unknown>): void {
    const away =
      error instanceof NotSentError || error instanceof ScriptRefusedError || error instanceof UnknownOutcomeError;
    if (!away) throw error;
    if (this.settings.whenRedisFails === 'refuse') {
      const detail = 'Redis did not answer. Send the request again, with the same key.';
      throw new IdempotencyException('REDIS_UNAVAILABLE', detail, { cause: error });
    }
    request[SEEN] = 'unprotected';
    subscriber.add(next.handle().subscribe(subscriber));
  }
}
