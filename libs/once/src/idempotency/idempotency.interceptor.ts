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
import { from, lastValueFrom, type Observable } from 'rxjs';
import { OnceResultTooLargeError } from '../once.errors';
import { publish } from '../once.events';
import { decodeResult, encodeResult } from '../once.input';
import { LeaseKeeper } from '../once.keeper';
import {
  resolveRoute,
  type IdempotencyRouteOptions,
  type ResolvedIdempotencyOptions,
  type ResolvedOnceOptions,
} from '../once.options';
import { OnceStore, type FullClaim, type StoredAnswer } from '../once.store';
import { ONCE_OPTIONS } from '../once.tokens';
import { IDEMPOTENT } from './idempotency.tokens';
import { fingerprintOf, idOf, readKey, type HttpRequest } from './request-identity';
import { captureAnswer, captureError, replayed, type HttpResponse, type StoredResponse } from './stored-response';

/** Set on a response that was answered from the store. */
export const REPLAYED_HEADER = 'Idempotency-Replayed';

const HANDLED = Symbol('luanest:idempotency-handled');
type Request = HttpRequest & { [HANDLED]?: boolean };
type Route = Readonly<Required<IdempotencyRouteOptions>>;

/** One request under its claim. */
interface Exchange {
  readonly id: string;
  readonly claim: FullClaim;
  readonly claimedAt: number;
  readonly route: Route;
  readonly response: HttpResponse;
}

/**
 * Answers a repeat of a request from what was stored of the first, by the request's `Idempotency-Key`.
 *
 * Routes under `@Idempotent()` as that says; where the interceptor is bound otherwise, POST and PATCH.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly settings: ResolvedIdempotencyOptions;

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

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    if (context.getType() !== 'http') return next.handle();
    const request = context.switchToHttp().getRequest<Request>();
    const asked = this.reflector.getAllAndOverride<IdempotencyRouteOptions | undefined>(IDEMPOTENT, [
      context.getHandler(),
      context.getClass(),
    ]);
    const covered = asked !== undefined || ['POST', 'PATCH'].includes(request.method);
    // Bound globally and by a decorator as well, it must not meet its own claim.
    if (!covered || request[HANDLED] === true) return next.handle();
    request[HANDLED] = true;
    const route = resolveRoute(asked ?? {}, this.settings);
    const key = this.keyOf(request, route);
    if (key === undefined) return next.handle();
    const subject = await this.subjectOf(request);
    const claim: FullClaim = {
      token: this.store.newToken(),
      leaseMs: route.leaseMs,
      retentionMs: route.retentionMs,
      delivery: 'at-least-once',
      fingerprint: fingerprintOf(request, subject),
    };
    const [id, claimedAt] = [idOf(subject, key), performance.now()];
    const answer = await this.claim(id, claim);
    if (answer === undefined) return next.handle();
    const response = context.switchToHttp().getResponse<HttpResponse>();
    if (answer.status === 'claimed') {
      // Apart from the subscription: a client that leaves, or a timeout outside, must not leave the claim unsettled.
      return from(this.runHandler(next, { id, claim, claimedAt, route, response }));
    }
    return from(Promise.resolve(this.answerRepeat(answer, response)));
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

  private async subjectOf(request: Request): Promise<string> {
    const subject = await this.settings.subject(request);
    if (typeof subject === 'string' && subject !== '') return subject;
    throw new UnauthorizedException('Nobody is known by this request, so the key belongs to nobody.');
  }

  /** Undefined where Redis does not answer and the handler shall run all the same. */
  private async claim(id: string, claim: FullClaim): Promise<StoredAnswer | undefined> {
    try {
      return await this.store.claim(id, claim);
    } catch (error) {
      const away =
        error instanceof NotSentError || error instanceof ScriptRefusedError || error instanceof UnknownOutcomeError;
      if (!away) throw error;
      if (this.settings.whenRedisFails === 'run') return undefined;
      throw new ServiceUnavailableException('Redis did not answer. Send the request again, with the same key.', {
        cause: error,
      });
    }
  }

  private answerRepeat(answer: StoredAnswer, response: HttpResponse): unknown {
    const { header } = this.settings;
    if (answer.status === 'mismatch') {
      throw new UnprocessableEntityException(`This ${header} was used with another request. Send a new key.`);
    }
    if (answer.status === 'in-progress') {
      this.setHeader(response, 'Retry-After', String(Math.max(1, Math.ceil(answer.retryAfterMs / 1_000))));
      throw new ConflictException(`A request with this ${header} is in progress. Send it again later.`);
    }
    const stored = decodeResult(answer.result) as StoredResponse | undefined;
    if (stored === undefined) {
      throw new ConflictException(`The request with this ${header} was done. Its response was not kept.`);
    }
    for (const [name, value] of stored.headers) this.setHeader(response, name, value);
    this.setHeader(response, REPLAYED_HEADER, 'true');
    if (stored.kind !== 'error') this.host.httpAdapter.status(response, stored.status);
    return replayed(stored);
  }

  private setHeader(response: HttpResponse, name: string, value: string | string[]): void {
    // Both platforms take lists; the adapter's type names the text only.
    this.host.httpAdapter.setHeader(response, name, value as string);
  }

  private async runHandler(next: CallHandler, exchange: Exchange): Promise<unknown> {
    const { id, claim, claimedAt, route, response } = exchange;
    const before = { ...response.getHeaders() };
    const keeper = new LeaseKeeper(() => this.store.renew(id, claim.token, claim.leaseMs), claim.leaseMs, claimedAt);
    let body: unknown;
    try {
      body = await lastValueFrom(next.handle(), { defaultValue: undefined });
    } catch (error) {
      keeper.stop();
      await this.settle(exchange, route.storeErrors, () => captureError(response, before, error));
      throw error;
    }
    keeper.stop();
    const stored = route.storeErrors || response.statusCode < 500;
    await this.settle(exchange, stored, () => captureAnswer(response, before, body));
    return body;
  }

  /** The handler has spoken, so the client gets its answer, whatever becomes of the claim. */
  private async settle(
    { id, claim, route }: Exchange,
    store: boolean,
    capture: () => StoredResponse | undefined,
  ): Promise<void> {
    try {
      if (!store) await this.store.release(id, claim.token);
      else await this.store.confirm(id, claim.token, encodeWhatFits(capture(), route.maxStoredBytes));
    } catch (error) {
      publish('settleFailed', () => ({ error }));
    }
  }
}

/** The response as JSON, or '' where it cannot be kept: the key is done all the same. */
function encodeWhatFits(stored: StoredResponse | undefined, maxBytes: number): string {
  try {
    if (stored !== undefined) return encodeResult(stored, maxBytes);
    publish('resultNotStored', () => ({ reason: 'streamed' }));
  } catch (error) {
    const reason = error instanceof OnceResultTooLargeError ? 'too-large' : 'not-json';
    publish('resultNotStored', () => ({ reason }));
  }
  return '';
}
