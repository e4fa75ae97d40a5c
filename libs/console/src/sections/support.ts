import { Checks, InvalidInputError, shown } from '../../../internal/src';
import type { Action, Address, Done, Listing, Sentence, Target, Value } from '../console.types';
import { say } from './sentences';

export const input = new Checks('Console', (message) => new InvalidInputError(message));

/** Values that the user gave for an action, by name. */
export type Input = Readonly<Record<string, string | number>>;

/** Returns the address of the one item that an action is for. @throws InvalidInputError if the target is a list */
export function oneOf(target: Target, action: string): Address {
  if ('address' in target) return target.address;
  throw input.error(`The action ${action} is for one thing, not for all of a list. Give its address.`);
}

/** Always throws. @throws InvalidInputError that names the address */
export function unknownAddress(address: Address): never {
  throw input.error(`The console has nothing at ${shown(address.join('/'))}.`);
}

/** Always throws. @throws InvalidInputError that names the actions of the section */
export function unknownAction(section: string, actions: readonly Action[], action: string): never {
  const known = actions.map(({ name }) => name).join(', ') || 'none';
  throw input.error(`The section ${section} has no action ${shown(action)}. Known: ${known}.`);
}

/** Returns an instant as a value of the page; null if `ms` is undefined, null or 0. */
export function at(ms: number | null | undefined): Value {
  return ms === undefined || ms === null || ms === 0 ? null : { atMs: ms };
}

/** Returns a duration as a value of the page; null if `ms` is undefined. */
export function lasts(ms: number | undefined): Value {
  return ms === undefined ? null : { ms };
}

export function link(address: Address): Value {
  return { link: address, text: String(address.at(-1)) };
}

/** Parses a JSON text. Returns the text itself if it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Returns the result of an action that changed nothing. `sentence` has the reason. */
export function refused(sentence: Sentence): Done {
  return { count: 0, refused: sentence };
}

/** Returns a sentence if a page of a scan is not full although more pages follow; otherwise an empty list. */
export function scanSentences({ rows, nextCursor }: Pick<Listing, 'rows' | 'nextCursor'>, limit: number): Sentence[] {
  if (nextCursor === undefined || rows.length >= limit) return [];
  return [say('scan-goes-on')];
}
