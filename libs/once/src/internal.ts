// Exports for luanest/testing. They are not part of the public API.
export { IdempotencyParts } from './idempotency/idempotency.parts';
