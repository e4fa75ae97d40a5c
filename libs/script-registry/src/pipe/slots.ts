import { shown, slotOf } from '../../../internal/src';
import { InvalidInputError } from '../script-registry.errors';
import type { CommandArg } from '../connection/port';
import { FIRST_KEY } from './call';

/** Returns the beginning of a key up to the end of its hash tag; undefined if the key has no hash tag. */
function startOf(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  return close <= open + 1 ? undefined : key.slice(0, close + 1);
}

/**
 * Refuses a call whose keys are in several hash slots. Keys with the same beginning up to the end of the hash tag are in one slot, so the
 * slot itself is seldom computed.
 *
 * @param words arguments of the EVALSHA; they contain `keyCount` keys
 * @param checked arguments of an earlier call, whose keys were found to be in one slot. Consecutive calls often have the same keys, which
 *   need not be checked again
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
  // This check is the fastest one, and usually all keys pass it.
  const start = startOf(first);
  for (let at = FIRST_KEY + 1; at < FIRST_KEY + keyCount; at++) {
    const key = words[at] as string;
    if (known !== undefined && key === known[at]) continue;
    if ((start !== undefined && key.startsWith(start)) || slotOf(key) === slotOf(first)) continue;
    throw new InvalidInputError(
      `The script ${script} was not sent, because its keys are in two hash slots: ${shown(first)} in slot ${slotOf(first)} and ` +
        `${shown(key)} in slot ${slotOf(key)}. Build all keys of a call from one KeySpace.tag(subject), so that they share a hash tag.`,
      { code: 'CROSS_SLOT' },
    );
  }
}
