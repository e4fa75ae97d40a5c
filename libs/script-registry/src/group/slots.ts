import calculateSlot from 'cluster-key-slot';
import { shown } from '../arg-types';
import { CrossSlotError } from '../script-registry.errors';

/** The part of a key that is hashed, by the rule of the Cluster specification. */
function hashed(key: string): string {
  const open = key.indexOf('{');
  if (open === -1) return key;
  const close = key.indexOf('}', open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}

/** Slot of a key, 0 to 16,383. */
export function slotOf(key: string): number {
  return calculateSlot(key);
}

/**
 * Refuses keys that live in several slots. Equal tags are equal slots, so the usual case needs no checksum.
 *
 * @throws CrossSlotError naming two keys that differ
 */
export function checkSameSlot(script: string, keys: readonly string[]): void {
  const [first = '', ...others] = keys;
  const tag = hashed(first);
  for (const key of others) {
    if (hashed(key) === tag || slotOf(key) === slotOf(first)) continue;
    throw new CrossSlotError(
      `${script} was given keys of two slots: ${shown(first)} in ${slotOf(first)} and ${shown(key)} in ${slotOf(key)}. ` +
        'Build them from one KeySpace.tag(subject), so that they share a hash tag.',
    );
  }
}
