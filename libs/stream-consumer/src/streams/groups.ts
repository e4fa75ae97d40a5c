import type { ScriptRegistry } from 'luanest/script-registry';
import { purgeStream, removeGroup } from './streams.scripts';
import type { Stream } from './stream-catalog';

const PURGED_A_CALL = 100;

/**
 * Forgets a group in all partitions, and deletes what it alone had kept.
 *
 * @returns whether it was in one of them
 * @throws errors of the registry
 */
export async function forgetGroup(registry: ScriptRegistry, source: Stream, group: string): Promise<boolean> {
  let found = false;
  for (const partition of await source.all()) {
    const { stream, sessions, takes, due, tries, heads, parked, dead } = partition.of(group);
    const keys = { stream, sessions, takes, due, tries, heads, parked, dead };
    if (await registry.run(removeGroup, { keys, args: { group } })) found = true;
    for (let after = '-', more = true; more;) {
      const answer = await registry.run(purgeStream, { keys: { stream }, args: { after, count: PURGED_A_CALL } });
      after = answer.after;
      more = after !== '-';
    }
  }
  return found;
}
