export { CurrentOnceRun } from './idempotency/current-once-run.decorator';
export { Idempotent } from './idempotency/idempotency.decorator';
export { IdempotencyException } from './idempotency/idempotency.exception';
export type { IdempotencyOptions, IdempotencyRouteOptions } from './idempotency/idempotency.options';
export { IdempotencyInterceptor } from './idempotency/idempotency.interceptor';
export { Once, type OnceHandlerOptions } from './once.decorator';
export { OnceInProgressError, OnceResultTooLargeError } from './once.errors';
export { ONCE_CHANNELS, type OnceEvents } from './once.events';
export { OnceModule } from './once.module';
export type { OnceModuleOptions } from './once.options';
export { OnceService } from './once.service';
export type {
  Claim,
  ClaimAnswer,
  Delivery,
  MessageTarget,
  OnceRun,
  OnceTarget,
  PeekAnswer,
  RequestTarget,
  RunAnswer,
  RunOptions,
  StoredResponse,
} from './once.types';
