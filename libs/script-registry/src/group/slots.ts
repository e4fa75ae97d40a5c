import { shown, slotOf } from '../../../internal/src';
import { CrossSlotError } from '../script-registry.errors';

function hashed(key: string): string {
  const open = key.indexOf('{');
  if (open === -1) return key;
  const close = key.indexOf('}', open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}

/** Returns true if two keys are equal up to the end of their hash tag. This is the usual case, and the cheapest to check. */
function sameStart(a: string, b: string): boolean {
  const open = a.indexOf('{');
  const close = open === -1 ? -1 : a.indexOf('}', open + 1);
  if (close <= open + 1 || b.length <= close) return false;
  for (let i = close; i >= 0; i--) if (a.charCodeAt(i) !== b.charCodeAt(i)) return false;
  return true;
}

/**
 * Refuses keys of several slots. Slots are computed only for keys with different hash tags.
 *
 * @throws CrossSlotError that names two keys of different slots
 */
export function checkSameSlot(script: string, keys: readonly string[]): void {
  const first = keys[0] as string;
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    if (sameStart(first, key) || hashed(key) === hashed(first) || slotOf(key) === slotOf(first)) continue;
    throw new CrossSlotError(
      `${script} got keys of two slots: ${shown(first)} in ${slotOf(first)} and ${shown(key)} in ${slotOf(key)}. ` +
        'Build all keys of a call from one KeySpace.tag(subject), so that they share a hash tag.',
    );
  }
}
