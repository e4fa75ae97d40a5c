import { channel } from 'node:diagnostics_channel';
import type { Admin } from './admin';

/** Channel for the number of faults that a proxy has made, such as `{ what: 'replies lost', count: 1 }`. */
const faults = channel('luanest:testing:fault.made');

/** Returns true if the channel of faults has a subscriber. */
export function faultsAreCounted(): boolean {
  return faults.hasSubscribers;
}

export function reportFault(what: string, count = 1): void {
  if (faults.hasSubscribers) faults.publish({ what, count });
}

/** Reports how many EVAL and EVALSHA a server has run since its start or CONFIG RESETSTAT. Failed calls count too. */
export async function reportScripts(admin: Admin): Promise<void> {
  const stats = await admin.info('commandstats');
  for (const [, calls] of stats.matchAll(/cmdstat_(?:evalsha|eval|evalsha_ro|eval_ro):calls=(\d+)/g)) {
    reportFault('scripts run by Redis', Number(calls));
  }
}
