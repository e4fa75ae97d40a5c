import { LockLease, type LeasePort, type LockLeases } from '../../../lock/src/internal';
import { renewalNotReplicated, waitOfRenewal } from '../../../internal/src';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { Job } from '../jobs/job';
import type { ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import { completeRun, renewRun } from '../scheduled-lock.scripts';
import type { Claim } from './claims';

export interface Ending {
  readonly status: 'ran' | 'failed' | 'lost';
  readonly durationMs: number;
}

/**
 * Creates the lease of a run. Its release adds the result of the run to the history of the job: what `ending` returns, or `lost` if the
 * lease has ended.
 */
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
    renew: async (nextMs, deadlineMs) => {
      const input = { keys: { state }, args: { owner, leaseMs: nextMs, retentionMs } };
      if (module.replicas === 0) return registry.run(renewRun, input, { deadlineMs });
      const waited = await registry.runAndWait(renewRun, input, waitOfRenewal(module, deadlineMs));
      if (!waited.result || waited.replicas >= module.replicas) return waited.result;
      throw renewalNotReplicated(`job ${name}`, waited.replicas, module);
    },
    release: () =>
      registry.run(completeRun, {
        keys: { state, history },
        args: { owner, node, ...ending(), atLeastMs, retentionMs, keep, slot, fence },
      }),
  };
  return new LockLease(name, fence, sentAt, leaseMs, renew, port, leases);
}
