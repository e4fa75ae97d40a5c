import { shown, slotOf } from '../../../internal/src';
import { InvalidInputError } from '../script-registry.errors';
import type { CommandArg } from '../connection/port';
import { FIRST_KEY } from './call';

/** Returns the part of a key up to the end of its hash tag. Returns undefined if the key has no hash tag. */
function startOf(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  return close <= open + 1 ? undefined : key.slice(0, close + 1);
}

/**
 * Refuses a call whose keys are in several hash slots. For speed, the slot of a key is not computed if the key and the first key are
 * equal up to the end of the hash tag.
 *
 * @param words arguments of the EVALSHA; they contain `keyCount` keys
 * @param checked words of an earlier call with the same number of keys, which are all in one slot. If a key is equal to the key at the
 *   same index there, it is not checked again. Consecutive calls often have the same keys, such as those of one queue
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
  // Usually all keys are equal up to the end of their hash tag. This is also the fastest check.
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
