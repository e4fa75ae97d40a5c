import { shown, slotOf } from '../../../internal/src';
import { InvalidInputError } from '../script-registry.errors';
import type { CommandArg } from '../connection/port';
import { FIRST_KEY } from './call';

/** Returns a key up to the end of its hash tag; undefined without a hash tag. */
function startOf(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  return close <= open + 1 ? undefined : key.slice(0, close + 1);
}

/**
 * Refuses a call with keys of several slots. Slots are computed only for keys without a hash tag, and for keys that differ before its
 * end.
 *
 * @param words of the call, with `keyCount` keys
 * @param checked words of an earlier call with as many keys, all of one slot. Keys that are the same at the same index are not checked
 *   again, since consecutive calls often have the same keys (one activity, one queue)
 * @throws InvalidInputError that names two keys of different slots
 */
export function checkSameSlot(
  script: string,
  words: readonly CommandArg[],
  keyCount: number,
  checked: readonly CommandArg[] | undefined,
): void {
  const first = words[FIRST_KEY] as string;
  const known = checked !== undefined && first === checked[FIRST_KEY] ? checked : undefined;
  // Keys that are equal up to the end of their hash tag are the usual case, and the cheapest to check.
  const start = startOf(first);
  for (let at = FIRST_KEY + 1; at < FIRST_KEY + keyCount; at++) {
    const key = words[at] as string;
    if (known !== undefined && key === known[at]) continue;
    if ((start !== undefined && key.startsWith(start)) || slotOf(key) === slotOf(first)) continue;
    throw new InvalidInputError(
      `${script} got keys of two slots: ${shown(first)} in ${slotOf(first)} and ${shown(key)} in ${slotOf(key)}. ` +
        'Build all keys of a call from one KeySpace.tag(subject), so that they share a hash tag.',
      { code: 'CROSS_SLOT' },
    );
  }
}
