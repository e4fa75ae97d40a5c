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
import { keepRun } from './current-once-run.decorator';
import { ProtectedRequest } from './protected-request';
import { hasLeft } from './http2-head';
import { IdempotencyException } from './idempotency.exception';
import { IDEMPOTENT, notHttp } from './idempotency.explorer';
import type { HttpRequest } from './request-body';
import { fingerprintOf, idOf, readKey, subjectOf } from './request-identity';
import { answerRepeat, RetryPauses } from './repeat';
import { sendAsProblem } from './problem';
import { rawOf, type HttpResponse } from './response-recorder';

/**
 * Key of a property that marks requests which this interceptor has handled. If the interceptor is bound to a route twice, the
 * second call must not take the first call's claim for another request.
 */
const SEEN = Symbol('luanest:idempotency-seen');
type Request = HttpRequest & { [SEEN]?: ProtectedRequest | 'unprotected' };

/** Errors of a claim to which `onRedisError` applies: Redis was unavailable or refused, or too few replicas have the claim. */
const REDIS_ERRORS = [NotSentError, ScriptRefusedError, UnknownOutcomeError, OnceNotReplicatedError];

/** `decorated` is true if the handler or its controller has `@Idempotent()`. */
interface HandlerSettings {
  readonly settings: ResolvedRouteOptions;
  readonly decorated: boolean;
}

/** Request with a valid key, before its claim. */
interface KeyedRequest {
  readonly request: Request;
  readonly response: HttpResponse;
  readonly next: CallHandler;
  readonly route: ResolvedRouteOptions;
  readonly key: string;
}

/**
 * Makes HTTP routes idempotent: replies to a repeat of a request, which has the same `Idempotency-Key`, with the stored
 * response of the first request, if there is one.
 *
 * `@Idempotent()` binds this interceptor to a route. If the app binds it in another way, such as globally, it also applies to
 * POST and PATCH requests of routes without `@Idempotent()`.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly settings: ResolvedIdempotencyOptions;
  /** Settings by controller and then by handler, because controllers that inherit a handler may have different settings. */
  private readonly routes = new Map<object, Map<object, HandlerSettings>>();
  private readonly logger = new Logger('OnceModule');
  /** Handlers for which a refusal with BODY_NOT_COMPARABLE was logged. */
  private readonly warned = new WeakSet<object>();

  /** @throws InvalidOptionError if the module has no option `idempotency` */
  constructor(
    @Inject(ONCE_OPTIONS) options: ResolvedOnceModuleOptions,
    @Inject(OnceStore) private readonly store: OnceStore,
    @Inject(Runs) private readonly runs: Runs,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {
    if (options.idempotency === undefined) {
      throw new InvalidOptionError(
        '@Idempotent and IdempotencyInterceptor need a function that returns the id of the user who sent a request. ' +
          'Set OnceModule.forRoot({ idempotency: { subject: (request) => ... } }).',
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

  /**
   * Lets a call that is not an HTTP request pass, because it has no idempotency key.
   *
   * @throws InvalidOptionError if the handler has `@Idempotent()`
   */
  private passMessage(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride(IDEMPOTENT, targets) === undefined) return next.handle();
    throw notHttp(`${context.getClass().name}.${context.getHandler().name}`);
  }

  /** Sets the content type of a refusal. If the content cannot be compared, logs a warning, once per handler. */
  private prepare({ code, cause }: IdempotencyException, response: HttpResponse, context: ExecutionContext): void {
    sendAsProblem(response);
    const handler = context.getHandler();
    if (code !== 'BODY_NOT_COMPARABLE' || this.warned.has(handler)) return;
    this.warned.add(handler);
    this.logger.warn(
      `A request to ${context.getClass().name}.${handler.name} has ${(cause as Error).message}, which cannot be ` +
        'compared with a repeat, so the route refused the request with 415. Let a parser read the body, and keep ' +
        'uploaded files in memory, before the interceptor, or set the option fingerprint. Logged once per route.',
    );
  }

  /** Returns the settings for a request; undefined if this interceptor does not apply to the request. */
  private routeOf(context: ExecutionContext, method: string): ResolvedRouteOptions | undefined {
    const [handler, controller] = [context.getHandler(), context.getClass()];
    let routes = this.routes.get(controller);
    if (routes === undefined) {
      routes = new Map<object, HandlerSettings>();
      this.routes.set(controller, routes);
    }
    let route = routes.get(handler);
    if (route === undefined) {
      const targets = [handler, controller];
      const given = this.reflector.getAllAndOverride<IdempotencyRouteOptions | undefined>(IDEMPOTENT, targets);
      const settings = resolveRoute(given ?? {}, this.settings, new Checks('@Idempotent'));
      route = { settings, decorated: given !== undefined };
      routes.set(handler, route);
    }
    return route.decorated || method === 'POST' || method === 'PATCH' ? route.settings : undefined;
  }

  private keyOf(request: Request, { required }: ResolvedRouteOptions): string | undefined {
    const { header } = this.settings;
    const key = readKey(request.headers[header.toLowerCase()]);
    if (key === null) {
      throw new IdempotencyException(
        'KEY_INVALID',
        `${header} must be one key of 1 to 255 visible ASCII characters, without commas and quotation marks inside.`,
      );
    }
    if (key === undefined && required) {
      throw new IdempotencyException(
        'KEY_MISSING',
        `${header} is missing. Send a new key, such as a UUID, with each new request.`,
      );
    }
    return key;
  }

  private start(keyed: KeyedRequest, subscriber: Subscriber<unknown>, refuse: (error: unknown) => void): void {
    const known = this.settings.subject(keyed.request);
    // Most `subject` functions are not async. A request costs less if no promise is made for their result.
    if (typeof known !== 'object' || known === null) this.identify(keyed, known, subscriber, refuse);
    else known.then((subject) => this.identify(keyed, subject, subscriber, refuse)).catch(refuse);
  }

  private identify(
    keyed: KeyedRequest,
    known: Subject,
    subscriber: Subscriber<unknown>,
    refuse: (error: unknown) => void,
  ): void {
    const subject = subjectOf(known);
    const fingerprint = fingerprintOf(keyed.request, subject, keyed.route.fingerprint);
    const claim = (text: string): Promise<void> => this.claim(keyed, subject, text, subscriber);
    if (typeof fingerprint === 'string') claim(fingerprint).catch(refuse);
    else fingerprint.then(claim).catch(refuse);
  }

  private async claim(
    keyed: KeyedRequest,
    subject: string,
    fingerprint: string,
    subscriber: Subscriber<unknown>,
  ): Promise<void> {
    const { request, response, route, next } = keyed;
    const { leaseMs, maxLeaseMs, retentionMs, delivery, replicas, replicasTimeoutMs } = route;
    const token = this.store.newToken();
    const claim: FullClaim = { token, leaseMs, retentionMs, delivery, fingerprint, replicas, replicasTimeoutMs };
    const key = this.store.keyOf(idOf(subject, keyed.key), 'request');
    const pauses = new RetryPauses(route.waitMs);
    for (;;) {
      const claimedAt = performance.now();
      let answer: StoredAnswer;
      try {
        answer = await this.store.claim(key, claim);
      } catch (error) {
        // The claim may have taken effect, or ioredis sends it again later. The release is sent after that, and frees the key.
        if (error instanceof UnknownOutcomeError) void this.store.giveBack(key, token);
        return this.withoutClaim(error, keyed, subscriber);
      }
      if (answer.status === 'claimed') {
        if (subscriber.closed) return this.store.giveBack(key, token);
        const held = { key, token, fence: fenceOf(answer), claimedAt, leaseMs, maxLeaseMs };
        const protectedRequest = new ProtectedRequest(this.store, this.runs, { id: keyed.key, held, route, response });
        request[SEEN] = protectedRequest;
        keepRun(request, protectedRequest.claim);
        return protectedRequest.run(next, subscriber);
      }
      const isConnected = !subscriber.closed && !hasLeft(rawOf(response));
      if (answer.status !== 'in-progress' || !isConnected || !(await pauses.pause())) {
        return answerRepeat(answer, this.settings.header, response, subscriber);
      }
    }
  }

  /** Applies `onRedisError` to a request whose claim failed: refuses the request, or runs the handler without a claim. */
  private withoutClaim(error: unknown, { request, next, key }: KeyedRequest, subscriber: Subscriber<unknown>): void {
    if (!REDIS_ERRORS.some((type) => error instanceof type)) throw error;
    if (this.settings.onRedisError === 'refuse') {
      const detail =
        'The key of this request cannot be checked at the moment, so the request was not processed. Send it again with the same key.';
      throw new IdempotencyException('REDIS_UNAVAILABLE', detail, { cause: error });
    }
    request[SEEN] = 'unprotected';
    keepRun(request, this.runs.unprotected(key));
    subscriber.add(next.handle().subscribe(subscriber));
  }
}
