import { errorType } from '../error-type';
import type { Recorder } from '../recorder';
import type { Subscriptions } from '../subscriptions';

export function countRateLimits(on: Subscriptions, recorder: Recorder): void {
  for (const outcome of ['allowed', 'refused'] as const) {
    on.on(`luanest:rate-limit:request.${outcome}`, ({ source, violated }) => {
      recorder.add('luanest.rate_limit.decisions', { 'luanest.outcome': outcome, 'luanest.rate_limit.source': source });
      for (const rule of violated) recorder.add('luanest.rate_limit.violations', { 'luanest.rate_limit.rule': rule });
    });
  }
  on.on('luanest:rate-limit:redis.failed', ({ policy, error }) =>
    recorder.add('luanest.rate_limit.redis_failures', {
      'luanest.rate_limit.policy': policy,
      'error.type': errorType(error),
    }),
  );
  on.on('luanest:rate-limit:breaker.changed', ({ state }) =>
    recorder.add('luanest.rate_limit.breaker.changes', { 'luanest.rate_limit.breaker.state': state }),
  );
  on.on('luanest:rate-limit:subject.unknown', ({ rule, context }) =>
    recorder.add('luanest.rate_limit.unknown_subjects', {
      'luanest.rate_limit.rule': rule,
      'luanest.context': context,
    }),
  );
}

export function countOnce(on: Subscriptions, recorder: Recorder): void {
  on.on('luanest:once:claim.answered', ({ status }) =>
    recorder.add('luanest.once.claims', { 'luanest.outcome': status }),
  );
  on.on('luanest:once:lease.lost', ({ during }) =>
    recorder.add('luanest.once.leases.lost', { 'luanest.during': during }),
  );
  on.on('luanest:once:result.dropped', ({ reason }) =>
    recorder.add('luanest.once.results.not_stored', { 'luanest.reason': reason }),
  );
  on.on('luanest:once:settlement.failed', ({ error }) =>
    recorder.add('luanest.once.settle.errors', { 'error.type': errorType(error) }),
  );
}

export function countReadRewards(on: Subscriptions, recorder: Recorder): void {
  on.on('luanest:read-reward:read.recorded', ({ rule, status, points }) => {
    const named = { 'luanest.read_reward.rule': rule };
    recorder.add('luanest.read_reward.records', { ...named, 'luanest.outcome': status });
    if (points > 0) recorder.add('luanest.read_reward.points', named, points);
  });
  on.on('luanest:read-reward:grant.refunded', ({ rule, status, points }) => {
    const named = { 'luanest.read_reward.rule': rule };
    recorder.add('luanest.read_reward.refunds', { ...named, 'luanest.outcome': status });
    if (points > 0) recorder.add('luanest.read_reward.points.refunded', named, points);
  });
  on.on('luanest:read-reward:period.missed', ({ rule }) =>
    recorder.add('luanest.read_reward.periods.missed', { 'luanest.read_reward.rule': rule }),
  );
}
