/** Metadata key of `@Idempotent()`. */
export const IDEMPOTENT = 'luanest:idempotent';
