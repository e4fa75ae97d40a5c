export { Idempotent } from './idempotency/idempotency.decorator';
export { IdempotencyInterceptor, REPLAYED_HEADER } from './idempotency/idempotency.interceptor';
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
export type { IdempotencyOptions, IdempotencyRouteOptions, OnceOptions, SubjectResolver } from './once.options';
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
