/** Injection token of the resolved options. */
export const ONCE_OPTIONS = Symbol('luanest:once-options');
