import {
  Injectable,
  Logger,
  Optional,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { NotReplicatedError, NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { provided, time } from '../../../internal/src';
import { Observable, type Subscriber } from 'rxjs';
import type { ResolvedIdempotencyOptions, ResolvedRouteOptions, Subject } from './idempotency.options';
import { events } from '../once.events';
import { OnceService } from '../once.service';
import type { Claim, RequestTarget } from '../once.types';
import type { Runs } from '../runs/runs';
import { IdempotencyParts } from './idempotency.parts';
import { keepRun } from './current-once-run.decorator';
import { ProtectedRequest } from './protected-request';
import { IdempotencyException } from './idempotency.exception';
import { IDEMPOTENT, notHttp } from './idempotency.metadata';
import type { HttpRequest } from './request-body';
import { fingerprintOf, readKey, subjectOf } from './request-identity';
import { answerRepeat } from './repeat';
import { sendAsProblem } from './problem';
import type { RouteSettings } from './route-settings';
import type { HttpResponse } from './response-recorder';

/**
 * Marks requests that this interceptor has handled. If it is bound to a route twice, its second call would find the claim of its first
 * call, and take the request for a repeat.
 */
const SEEN = Symbol('luanest:idempotency-seen');
type Request = HttpRequest & { [SEEN]?: ProtectedRequest | 'unprotected' };

/**
 * Errors to which `onRedisError` applies: Redis was unavailable, Redis refused the claim of the key, or too few replicas have the claim.
 */
const REDIS_ERRORS = [NotSentError, ScriptRefusedError, UnknownOutcomeError, NotReplicatedError];

/** A request with a valid idempotency key, before the key is claimed. */
interface KeyedRequest {
  readonly request: Request;
  readonly response: HttpResponse;
  readonly next: CallHandler;
  readonly route: ResolvedRouteOptions;
  readonly key: string;
  readonly subscriber: Subscriber<unknown>;
  /** Ends the request with an error. */
  readonly refuse: (error: unknown) => void;
}

/**
 * Makes HTTP routes idempotent. A request with the same `Idempotency-Key` as an earlier request is a repeat. The interceptor
 * replies to a repeat with the stored response of the first request, if there is one.
 *
 * `@Idempotent()` binds this interceptor to a route. If the app binds it in another way, such as globally, it also applies to
 * POST and PATCH requests of routes without `@Idempotent()`.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly once: OnceService;
  private readonly settings: ResolvedIdempotencyOptions;
  private readonly runs: Runs;
  /** Name of the header with the idempotency key, in lower case as in `headers` of Node's request. */
  private readonly headerName: string;
  private readonly routes: Pick<RouteSettings, 'of'>;
  private readonly logger = new Logger('OnceModule');
  /** Handlers for which the refusal BODY_NOT_COMPARABLE was logged already. */
  private readonly warned = new WeakSet<object>();

  /** @throws SetupError if the app does not import OnceModule; InvalidOptionError if the module has no option `idempotency` */
  constructor(
    @Optional() once: OnceService,
    private readonly reflector: Reflector,
    @Optional() parts: IdempotencyParts,
  ) {
    const forRoot = 'OnceModule.forRoot({ idempotency: { subject } })';
    this.once = provided(once, new.target.name, forRoot);
    this.settings = provided(parts, new.target.name, forRoot).settings;
    this.runs = parts.runs;
    this.routes = parts.routes(reflector);
    this.headerName = this.settings.header.toLowerCase();
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return this.passMessage(context, next);
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const seen = request[SEEN];
    if (seen === 'unprotected') return next.handle();
    if (seen !== undefined) return new Observable((subscriber) => seen.run(next, subscriber));
    const route = this.routes.of(context, request.method);
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
        } else this.start({ request, response, next, route, key, subscriber, refuse });
      } catch (error) {
        refuse(error);
      }
    });
  }

  /**
   * Lets calls pass that are not HTTP requests, because they have no idempotency key.
   *
   * @throws InvalidOptionError if the handler has `@Idempotent()`
   */
  private passMessage(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride(IDEMPOTENT, targets) === undefined) return next.handle();
    throw notHttp(`${context.getClass().name}.${context.getHandler().name}`);
  }

  /** Sets the content type of a refusal. If the content of a request cannot be compared, logs a warning, once per handler. */
  private prepare({ code, cause }: IdempotencyException, response: HttpResponse, context: ExecutionContext): void {
    sendAsProblem(response);
    const handler = context.getHandler();
    if (code !== 'BODY_NOT_COMPARABLE' || this.warned.has(handler)) return;
    this.warned.add(handler);
    this.logger.warn(
      `${context.getClass().name}.${handler.name} (@Idempotent) refused a request with 415: the request has ` +
        `${(cause as Error).message}, which cannot be compared with the content of a repeat. Let a body parser run before the ` +
        'interceptor, and keep uploaded files in memory. Or set the option fingerprint. Logged once per handler.',
    );
  }

  private keyOf(request: Request, { required }: ResolvedRouteOptions): string | undefined {
    const { header } = this.settings;
    const key = readKey(request.headers[this.headerName]);
    if (key === null) {
      throw new IdempotencyException(
        'KEY_INVALID',
        `The header ${header} is not a valid key. Send one key of 1 to 255 visible ASCII characters, without commas and quotation marks inside.`,
      );
    }
    if (key === undefined && required) {
      throw new IdempotencyException(
        'KEY_MISSING',
        `The header ${header} is missing. Send a new key, such as a UUID, with each new request.`,
      );
    }
    return key;
  }

  // The methods from here to `claimed` are not async, because an async function creates more promises per request.
  private start(keyed: KeyedRequest): void {
    const known = this.settings.subject(keyed.request);
    if (typeof known !== 'object' || known === null) this.identify(keyed, known);
    else known.then((subject) => this.identify(keyed, subject)).catch(keyed.refuse);
  }

  private identify(keyed: KeyedRequest, known: Subject): void {
    const subject = subjectOf(known);
    const fingerprint = fingerprintOf(keyed.request, subject, keyed.route.fingerprint);
    if (typeof fingerprint === 'string') this.prepareClaim(keyed, subject, fingerprint);
    else fingerprint.then((text) => this.prepareClaim(keyed, subject, text)).catch(keyed.refuse);
  }

  private prepareClaim(keyed: KeyedRequest, subject: string, fingerprint: string): void {
    this.claim(keyed, { subject, key: keyed.key, fingerprint });
  }

  private claim(keyed: KeyedRequest, target: RequestTarget): void {
    const claimedAt = time.monotonicMs();
    Promise.resolve(this.once.claim(target, keyed.route.terms))
      .then(
        (answer) => {
          if (answer.status === 'claimed') this.claimed(keyed, answer, claimedAt);
          else answerRepeat(answer, this.settings.header, keyed.response, keyed.subscriber);
        },
        (error: unknown) => this.withoutClaim(error, keyed),
      )
      .catch(keyed.refuse);
  }

  private claimed(keyed: KeyedRequest, claim: Claim, claimedAt: number): void {
    const { request, response, route, next, subscriber } = keyed;
    if (subscriber.closed) {
      claim.release().catch((error: unknown) => events.settlementFailed.publish(() => ({ error })));
      return;
    }
    const held = { claim, claimedAt, leaseMs: route.leaseMs, maxLeaseMs: route.maxLeaseMs };
    const protectedRequest = new ProtectedRequest(this.runs, { id: keyed.key, held, route, response });
    request[SEEN] = protectedRequest;
    keepRun(request, protectedRequest.claim);
    protectedRequest.run(next, subscriber);
  }

  /** Applies `onRedisError` to a request whose key could not be claimed: refuses the request, or runs the handler without protection. */
  private withoutClaim(error: unknown, { request, next, key, subscriber }: KeyedRequest): void {
    if (!REDIS_ERRORS.some((type) => error instanceof type)) throw error;
    if (this.settings.onRedisError === 'refuse') {
      const detail =
        'The key of this request cannot be checked at the moment, so this attempt had no effect. An earlier request with the ' +
        'same key may have had an effect. Send the request again with the same key.';
      throw new IdempotencyException('REDIS_UNAVAILABLE', detail, { cause: error });
    }
    request[SEEN] = 'unprotected';
    keepRun(request, this.runs.unprotected(key));
    subscriber.add(next.handle().subscribe(subscriber));
  }
}
