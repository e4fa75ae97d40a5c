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
import { Checks, InvalidOptionError } from '../../../internal/src';
import { Observable, type Subscriber } from 'rxjs';
import { ONCE_OPTIONS, type ResolvedOnceModuleOptions } from '../once.options';
import {
  resolveRoute,
  type IdempotencyRouteOptions,
  type ResolvedIdempotencyOptions,
  type ResolvedRouteOptions,
  type Subject,
} from './idempotency.options';
import { OnceNotReplicatedError } from '../once.errors';
import { fenceOf, OnceStore, type FullClaim, type StoredAnswer } from '../once.store';
import { Runs } from '../runs/runs';
import { Exchange } from './protected-request';
import { hasLeft } from './http2-head';
import { IdempotencyException } from './idempotency.exception';
import { IDEMPOTENT, notHttp } from './idempotency.explorer';
import type { HttpRequest } from './request-body';
import { fingerprintOf, idOf, readKey, subjectOf } from './request-identity';
import { answerRepeat, Waiting } from './repeat';
import { sendAsProblem } from './problem';
import { rawOf, type HttpResponse } from './response-recorder';

/** On a request: its exchange, or that it passes unprotected. Bound twice, the interceptor must not meet its own claim. */
const SEEN = Symbol('luanest:idempotency-seen');
type Request = HttpRequest & { [SEEN]?: Exchange | 'unprotected' };

/** How a claim fails where Redis, or too few of its replicas, answered. Nothing runs under it then. */
const REDIS_ERRORS = [NotSentError, ScriptRefusedError, UnknownOutcomeError, OnceNotReplicatedError];

/** A handler's settings, and whether it or its controller carries the decorator. */
interface Covered {
  readonly settings: ResolvedRouteOptions;
  readonly decorated: boolean;
}

/** One request on its way to a claim. */
interface Asked {
  readonly request: Request;
  readonly response: HttpResponse;
  readonly next: CallHandler;
  readonly route: ResolvedRouteOptions;
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
  private readonly logger = new Logger('OnceModule');
  /** Handlers whose requests could not be compared; each is logged once. */
  private readonly warned = new WeakSet<object>();

  /** @throws InvalidOptionError when the module has no `idempotency` settings */
  constructor(
    @Inject(ONCE_OPTIONS) options: ResolvedOnceModuleOptions,
    @Inject(OnceStore) private readonly store: OnceStore,
    @Inject(Runs) private readonly runs: Runs,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {
    if (options.idempotency === undefined) {
      throw new InvalidOptionError(
        '@Idempotent needs a function that resolves the subject of a request. Set OnceModule.forRoot({ idempotency: { subject } }).',
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
    sendAsProblem(response);
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
  private routeOf(context: ExecutionContext, method: string): ResolvedRouteOptions | undefined {
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
      const settings = resolveRoute(asked ?? {}, this.settings, new Checks('@Idempotent'));
      route = { settings, decorated: asked !== undefined };
      routes.set(handler, route);
    }
    return route.decorated || method === 'POST' || method === 'PATCH' ? route.settings : undefined;
  }

  private keyOf(request: Request, { required }: ResolvedRouteOptions): string | undefined {
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
    const { leaseMs, maxLeaseMs, retentionMs, delivery, replicas, replicasTimeoutMs } = route;
    const token = this.store.newToken();
    const claim: FullClaim = { token, leaseMs, retentionMs, delivery, fingerprint, replicas, replicasTimeoutMs };
    const key = this.store.keyOf(idOf(subject, asked.key), 'request');
    const waiting = new Waiting(route.onInProgress === 'wait' ? route.waitMs : 0);
    for (;;) {
      const claimedAt = performance.now();
      let answer: StoredAnswer;
      try {
        answer = await this.store.claim(key, claim);
      } catch (error) {
        // The client may send the claim again when Redis is back, for nobody: a release behind it frees the key.
        if (error instanceof UnknownOutcomeError) void this.store.giveBack(key, token);
        return this.withoutClaim(error, asked, subscriber);
      }
      if (answer.status === 'claimed') {
        if (subscriber.closed) return this.store.giveBack(key, token);
        const held = { key, token, fence: fenceOf(answer), claimedAt, leaseMs, maxLeaseMs };
        const exchange = new Exchange(this.store, this.runs, { id: asked.key, held, route, response });
        request[SEEN] = exchange;
        return exchange.run(next, subscriber);
      }
      const there = !subscriber.closed && !hasLeft(rawOf(response));
      if (answer.status !== 'in-progress' || !there || !(await waiting.pause())) {
        return answerRepeat(answer, this.settings.header, response, subscriber);
      }
    }
  }

  /** Redis does not answer: the handler runs all the same where that was chosen. */
  private withoutClaim(error: unknown, { request, next, key }: Asked, subscriber: Subscriber<unknown>): void {
    if (!REDIS_ERRORS.some((type) => error instanceof type)) throw error;
    if (this.settings.onRedisError === 'refuse') {
      const detail = 'The request could not be registered. Send it again, with the same key.';
      throw new IdempotencyException('REDIS_UNAVAILABLE', detail, { cause: error });
    }
    request[SEEN] = 'unprotected';
    this.runs.within(this.runs.unprotected(key), () => subscriber.add(next.handle().subscribe(subscriber)));
  }
}
