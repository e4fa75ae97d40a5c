import type { RewardRule } from 'luanest/read-reward';

/** Name of the rule that rewards rains that a visitor joins. */
export const JOIN_RULE = 'join-rain';

/** A point for each rain that a visitor joins on a day, at most three a day. The day begins at midnight in China. */
export const joinRule: RewardRule = { limit: 3, timeZone: 'Asia/Shanghai' };
