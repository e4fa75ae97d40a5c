import type { Metric } from '../metrics.types';

/** Metrics of rate limits, claims and rewards. */
export const GUARDS = {
  'luanest.rate_limit.decisions': {
    kind: 'counter',
    unit: '{decision}',
    description: 'Requests that were decided',
    attributes: ['luanest.outcome', 'luanest.rate_limit.source'],
  },
  'luanest.rate_limit.violations': {
    kind: 'counter',
    unit: '{violation}',
    description: 'Rules that a request exceeded, shadow rules included',
    attributes: ['luanest.rate_limit.rule'],
  },
  'luanest.rate_limit.redis_failures': {
    kind: 'counter',
    unit: '{failure}',
    description: 'Requests that Redis did not decide, by the policy that decided instead',
    attributes: ['luanest.rate_limit.policy', 'error.type'],
  },
  'luanest.rate_limit.breaker.changes': {
    kind: 'counter',
    unit: '{change}',
    description: 'Times that the breaker opened or closed',
    attributes: ['luanest.rate_limit.breaker.state'],
  },
  'luanest.rate_limit.unknown_subjects': {
    kind: 'counter',
    unit: '{request}',
    description: 'Requests whose subject a rule could not determine',
    attributes: ['luanest.rate_limit.rule', 'luanest.context'],
  },
  'luanest.once.claims': {
    kind: 'counter',
    unit: '{claim}',
    description: 'Claims that got a reply',
    attributes: ['luanest.outcome'],
  },
  'luanest.once.leases.lost': {
    kind: 'counter',
    unit: '{lease}',
    description: 'Leases that ended before their owner was done',
    attributes: ['luanest.during'],
  },
  'luanest.once.results.not_stored': {
    kind: 'counter',
    unit: '{result}',
    description: 'Results of finished work that could not be stored',
    attributes: ['luanest.reason'],
  },
  'luanest.once.settle.errors': {
    kind: 'counter',
    unit: '{call}',
    description: 'Outcomes of work that could not be written to Redis',
    attributes: ['error.type'],
  },
  'luanest.read_reward.records': {
    kind: 'counter',
    unit: '{item}',
    description: 'Items that were recorded',
    attributes: ['luanest.read_reward.rule', 'luanest.outcome'],
  },
  'luanest.read_reward.points': {
    kind: 'counter',
    unit: '{point}',
    description: 'Points that were granted',
    attributes: ['luanest.read_reward.rule'],
  },
  'luanest.read_reward.refunds': {
    kind: 'counter',
    unit: '{refund}',
    description: 'Refunds that were asked for',
    attributes: ['luanest.read_reward.rule', 'luanest.outcome'],
  },
  'luanest.read_reward.points.refunded': {
    kind: 'counter',
    unit: '{point}',
    description: 'Points that were taken back',
    attributes: ['luanest.read_reward.rule'],
  },
  'luanest.read_reward.periods.missed': {
    kind: 'counter',
    unit: '{call}',
    description: "Calls that were repeated because Redis' clock was outside of their periods",
    attributes: ['luanest.read_reward.rule'],
  },
} as const satisfies Record<string, Metric>;
