import { Lease } from 'luanest/lock';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { Job } from './job';
import type { ResolvedScheduledLockModuleOptions } from './scheduled-lock.options';
import { completeRun, renewRun } from './scheduled-lock.scripts';

/** How a run ended, as it is to be noted. */
export interface Ending {
  outcome: 'ran' | 'failed' | 'lost';
  durationMs: number;
}

/** The lease of a claimed run; its release notes `ending` in the history. */
export function runLease(
  registry: ScriptRegistry,
  module: ResolvedScheduledLockModuleOptions,
  { options, state, history }: Job,
  claim: { readonly owner: string; readonly slot: number; readonly fence: number; readonly sentAt: number },
  ending: Ending,
): Lease {
  const { owner, slot, fence, sentAt } = claim;
  const { retentionMs, historySize: keep, node } = module;
  const { name, lockAtMostForMs: leaseMs, lockAtLeastForMs: atLeastMs, renew } = options;
  return new Lease(
    { name, fence, leaseMs, sentAt, renew },
    {
      renew: (nextMs, deadlineMs) =>
        registry.run(renewRun, { keys: { state }, args: { owner, leaseMs: nextMs, retentionMs } }, { deadlineMs }),
      release: () =>
        registry.run(completeRun, {
          keys: { state, history },
          args: { owner, node, ...ending, atLeastMs, retentionMs, keep, slot, fence },
        }),
    },
  );
}
