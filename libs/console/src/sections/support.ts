import { Checks, InvalidInputError, shown } from '../../../internal/src';
import type { Action, Address, Done, Listing, Sentence, Target, Value } from '../console.types';

export const input = new Checks('Console', (message) => new InvalidInputError(message));

/** Values of the inputs of an action. */
export type Input = Readonly<Record<string, string | number>>;

/** Returns the address of the one thing that an action is for. @throws InvalidInputError for all of a list */
export function oneOf(target: Target, action: string): Address {
  if ('address' in target) return target.address;
  throw input.error(`The action ${action} is for one thing, not for all of a list. Give its address.`);
}

/** @throws InvalidInputError that names the address */
export function unknownAddress(address: Address): never {
  throw input.error(`The console has nothing at ${shown(address.join('/'))}.`);
}

/** @throws InvalidInputError that names the actions of the section */
export function unknownAction(section: string, actions: readonly Action[], action: string): never {
  const known = actions.map(({ name }) => name).join(', ') || 'none';
  throw input.error(`The section ${section} has no action ${shown(action)}. Known: ${known}.`);
}

/** Returns an instant for the page; null for undefined, null and 0. */
export function at(ms: number | null | undefined): Value {
  return ms === undefined || ms === null || ms === 0 ? null : { atMs: ms };
}

/** Returns a duration for the page; null for undefined. */
export function lasts(ms: number | undefined): Value {
  return ms === undefined ? null : { ms };
}

export function link(address: Address): Value {
  return { link: address, text: String(address.at(-1)) };
}

/** Outcome of an action that changed nothing. */
export function refused(sentence: Sentence): Done {
  return { count: 0, refused: sentence };
}

/** Says that a page of a scan is not full although more follow. */
export function scanSentences({ rows, nextCursor }: Pick<Listing, 'rows' | 'nextCursor'>, limit: number): Sentence[] {
  if (nextCursor === undefined || rows.length >= limit) return [];
  return [
    {
      code: 'scan-goes-on',
      text: 'Redis has many other keys, so this page is not full. The next pages may have more.',
      level: 'info',
    },
  ];
}
