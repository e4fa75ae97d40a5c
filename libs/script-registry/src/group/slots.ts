import { shown, slotOf } from '../../../internal/src';
import { CrossSlotError } from '../script-registry.errors';

/** The part of a key that is hashed, by the rule of the Cluster specification. */
function hashed(key: string): string {
  const open = key.indexOf('{');
  if (open === -1) return key;
  const close = key.indexOf('}', open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}

/** Whether two keys begin alike, to the end of a hash tag: the usual case, which needs neither a copy nor a checksum. */
function sameStart(a: string, b: string): boolean {
  const open = a.indexOf('{');
  const close = open === -1 ? -1 : a.indexOf('}', open + 1);
  if (close <= open + 1 || b.length <= close) return false;
  for (let i = close; i >= 0; i--) if (a.charCodeAt(i) !== b.charCodeAt(i)) return false;
  return true;
}

/**
 * Refuses keys that live in several slots. Equal tags are equal slots, so the usual case needs no checksum.
 *
 * @throws CrossSlotError naming two keys that differ
 */
export function checkSameSlot(script: string, keys: readonly string[]): void {
  const first = keys[0] as string;
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    if (sameStart(first, key) || hashed(key) === hashed(first) || slotOf(key) === slotOf(first)) continue;
    throw new CrossSlotError(
      `${script} was given keys of two slots: ${shown(first)} in ${slotOf(first)} and ${shown(key)} in ${slotOf(key)}. ` +
        'Build them from one KeySpace.tag(subject), so that they share a hash tag.',
    );
  }
}
