import { LockLease, type LeasePort, type LockLeases } from '../../../lock/src/internal';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { Job } from '../jobs/job';
import type { ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import { completeRun, renewRun } from '../scheduled-lock.scripts';
import type { Claim } from './claims';

export interface Ending {
  readonly status: 'ran' | 'failed' | 'lost';
  readonly durationMs: number;
}

/** Makes the lease of a claimed run. Its release adds to the history the result of `ending`, or `lost` if the lease has ended. */
export function runLease(
  registry: ScriptRegistry,
  module: ResolvedScheduledLockModuleOptions,
  { options, state, history, retentionMs }: Job,
  { owner, slot, fence, sentAt }: Claim,
  ending: () => Ending,
  leases: LockLeases,
): LockLease {
  const { historySize: keep, node } = module;
  const { name, leaseMs, lockAtLeastForMs: atLeastMs, renew } = options;
  const port: LeasePort = {
    renew: (nextMs, deadlineMs) =>
      registry.run(renewRun, { keys: { state }, args: { owner, leaseMs: nextMs, retentionMs } }, { deadlineMs }),
    release: () =>
      registry.run(completeRun, {
        keys: { state, history },
        args: { owner, node, ...ending(), atLeastMs, retentionMs, keep, slot, fence },
      }),
  };
  return new LockLease(name, fence, sentAt, leaseMs, renew, port, leases);
}
