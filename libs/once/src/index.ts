export { Idempotent } from './idempotency/idempotency.decorator';
export { IdempotencyException, type IdempotencyRefusal } from './idempotency/idempotency.exception';
export { IdempotencyInterceptor } from './idempotency/idempotency.interceptor';
export { REPLAYED_HEADER } from './idempotency/repeat';
export { Once, type OnceHandlerOptions } from './once.decorator';
export { InvalidOnceInputError, OnceInProgressError, OnceResultTooLargeError } from './once.errors';
export {
  ONCE_CHANNELS,
  type ClaimAnsweredEvent,
  type LeaseLostEvent,
  type ResultNotStoredEvent,
  type SettleFailedEvent,
} from './once.events';
export { OnceModule, type OnceModuleExtras } from './once.module';
export type {
  FingerprintResolver,
  IdempotencyOptions,
  IdempotencyRouteOptions,
  OnceOptions,
  Subject,
  SubjectResolver,
} from './once.options';
export { OnceService } from './once.service';
export type {
  Claim,
  ClaimAnswer,
  ClaimOptions,
  ConfirmAnswer,
  Delivery,
  Done,
  InProgress,
  Lost,
  ReleaseAnswer,
  RenewAnswer,
  RunAnswer,
  RunningClaim,
} from './once.types';
