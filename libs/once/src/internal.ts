// For luanest/testing. Users do not see it.
export { IdempotencyParts } from './idempotency/idempotency.parts';
