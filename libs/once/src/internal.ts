// Exports for luanest/testing, which are not part of the public API.
export { IdempotencyParts } from './idempotency/idempotency.parts';
