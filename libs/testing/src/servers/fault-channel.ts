import { channel } from 'node:diagnostics_channel';
import type { Admin } from './admin';

/** Channel on which proxies publish how many faults they have made, such as `{ what: 'replies lost', count: 1 }`. */
const faults = channel('luanest:testing:fault.made');

export function faultsAreCounted(): boolean {
  return faults.hasSubscribers;
}

export function reportFault(what: string, count = 1): void {
  if (faults.hasSubscribers) faults.publish({ what, count });
}

/** Publishes how many EVAL and EVALSHA a server has run since its start or CONFIG RESETSTAT, including failed ones. */
export async function reportScripts(admin: Admin): Promise<void> {
  const stats = await admin.info('commandstats');
  for (const [, calls] of stats.matchAll(/cmdstat_(?:evalsha|eval|evalsha_ro|eval_ro):calls=(\d+)/g)) {
    reportFault('scripts run by Redis', Number(calls));
  }
}
