import { performance } from 'node:perf_hooks';
import {
  BadRequestException,
  ConflictException,
  Inject,
  Injectable,
  ServiceUnavailableException,
  UnauthorizedException,
  UnprocessableEntityException,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { InvalidOptionError, NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { Observable, type Subscriber } from 'rxjs';
import { events } from '../once.events';
import {
  resolveRoute,
  type IdempotencyRouteOptions,
  type ResolvedIdempotencyOptions,
  type ResolvedOnceOptions,
} from '../once.options';
import { OnceStore, type FullClaim, type StoredAnswer } from '../once.store';
import { ONCE_OPTIONS } from '../once.tokens';
import { Exchange, type Held, type Route } from './exchange';
import { LeaseRounds } from './lease-rounds';
import { IDEMPOTENT } from './idempotency.tokens';
import { fingerprintOf, idOf, readKey, type HttpRequest } from './request-identity';
import { replayResponse, type HttpResponse } from './response-tap';
import { decodeResponse } from './stored-response';

/** Set on a response that was answered from the store. */
export const REPLAYED_HEADER = 'Idempotency-Replayed';

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

  /** @throws InvalidOptionError when the module has no `idempotency` settings */
  constructor(
    @Inject(ONCE_OPTIONS) options: ResolvedOnceOptions,
    @Inject(OnceStore) private readonly store: OnceStore,
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    if (options.idempotency === undefined) {
      throw new InvalidOptionError(
        'idempotency is undefined, so whose keys they are is unknown. Give OnceModule.forRoot({ idempotency: { subject } }).',
      );
    }
    this.settings = options.idempotency;
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const seen = request[SEEN];
    if (seen === 'unprotected') return next.handle();
    if (seen !== undefined) return new Observable((subscriber) => seen.run(next, subscriber));
    const route = this.routeOf(context, request.method);
    if (route === undefined) return next.handle();
    const key = this.keyOf(request, route);
    if (key === undefined) {
      request[SEEN] = 'unprotected';
      return next.handle();
    }
    const asked = { request, response: http.getResponse<HttpResponse>(), next, route, key };
    return new Observable((subscriber) => this.start(asked, subscriber));
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
      throw new BadRequestException(`${header} must be one key of 1 to 255 visible ASCII characters.`);
    }
    if (key === undefined && required) {
      throw new BadRequestException(`${header} is missing. Send a new one with each new request, such as a UUID.`);
    }
    return key;
  }

  private start(asked: Asked, subscriber: Subscriber<unknown>): void {
    const subject = this.settings.subject(asked.request);
    const refuse = (error: unknown): void => subscriber.error(error);
    // Most resolvers answer at once, and a promise less a request shows.
    if (typeof subject !== 'object') this.claim(asked, subject, subscriber);
    else subject.then((known) => this.claim(asked, known, subscriber)).catch(refuse);
  }

  private claim(asked: Asked, subject: string | undefined, subscriber: Subscriber<unknown>): void {
    if (typeof subject !== 'string' || subject === '') {
      throw new UnauthorizedException('Nobody is known by this request, so the key belongs to nobody.');
    }
    const { leaseMs, retentionMs, delivery } = asked.route;
    const claim: FullClaim = {
      token: this.store.newToken(),
      leaseMs,
      retentionMs,
      delivery,
      fingerprint: fingerprintOf(asked.request, subject),
    };
    const id = idOf(subject, asked.key);
    const held = { key: this.store.keyOf(id, 'request'), token: claim.token, claimedAt: performance.now() };
    const refuse = (error: unknown): void => subscriber.error(error);
    this.store
      .claim(held.key, claim)
      .then(
        (answer) => {
          if (answer.status !== 'claimed') this.answerRepeat(answer, asked.response, subscriber);
          else if (subscriber.closed) void this.giveBack(held);
          else {
            const { request, response, route, next } = asked;
            const exchange = new Exchange(this.store, held, route, response);
            request[SEEN] = exchange;
            exchange.run(next, subscriber);
          }
        },
        (error: unknown) => {
          // The client may send the claim again when Redis is back, for nobody: a release behind it frees the key.
          if (error instanceof UnknownOutcomeError) void this.giveBack(held);
          this.withoutClaim(error, asked, subscriber);
        },
      )
      .catch(refuse);
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
      throw new ServiceUnavailableException('Redis did not answer. Send the request again, with the same key.', {
        cause: error,
      });
    }
    request[SEEN] = 'unprotected';
    subscriber.add(next.handle().subscribe(subscriber));
  }

  private answerRepeat(answer: StoredAnswer, response: HttpResponse, subscriber: Subscriber<unknown>): void {
    const { header } = this.settings;
    if (answer.status === 'mismatch') {
      throw new UnprocessableEntityException(`This ${header} was used with another request. Send a new key.`);
    }
    if (answer.status === 'in-progress') {
      const seconds = Math.max(1, Math.ceil(Number(answer.text) / 1_000));
      this.host.httpAdapter.setHeader(response, 'Retry-After', String(seconds));
      throw new ConflictException(`A request with this ${header} is in progress. Send it again later.`);
    }
    if (answer.status === 'abandoned') {
      throw new ConflictException(
        `A request with this ${header} was begun and not finished. It will not be run again.`,
      );
    }
    const stored = decodeResponse(answer.text);
    if (stored === undefined) {
      throw new ConflictException(`The request with this ${header} was done. Its response was not kept.`);
    }
    replayResponse(response, stored, REPLAYED_HEADER);
    subscriber.next(undefined);
    subscriber.complete();
  }
}
