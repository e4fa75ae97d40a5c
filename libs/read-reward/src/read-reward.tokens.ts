/** Injection token of the resolved options. */
export const READ_REWARD_OPTIONS = Symbol('luanest:read-reward-options');
