import { shown, slotOf } from '../../../internal/src';
import { CrossSlotError } from '../script-registry.errors';

/** Returns a key up to the end of its hash tag; undefined without a hash tag. */
function startOf(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  return close <= open + 1 ? undefined : key.slice(0, close + 1);
}

/**
 * Refuses keys of several slots. Slots are computed only for keys without a hash tag, and for keys that differ before its end.
 *
 * @param checked keys of one slot, of an earlier call. Keys that are the same at the same index are not checked again, since
 *   consecutive calls often have the same keys (one activity, one queue)
 * @throws CrossSlotError that names two keys of different slots
 */
export function checkSameSlot(script: string, keys: readonly string[], checked: readonly string[]): void {
  const first = keys[0] as string;
  const known = first === checked[0] ? checked : [];
  // Keys that are equal up to the end of their hash tag are the usual case, and the cheapest to check.
  const start = startOf(first);
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    if (key === known[i]) continue;
    if ((start !== undefined && key.startsWith(start)) || slotOf(key) === slotOf(first)) continue;
    throw new CrossSlotError(
      `${script} got keys of two slots: ${shown(first)} in ${slotOf(first)} and ${shown(key)} in ${slotOf(key)}. ` +
        'Build all keys of a call from one KeySpace.tag(subject), so that they share a hash tag.',
    );
  }
}
