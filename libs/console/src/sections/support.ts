import { Checks, InvalidInputError, shown } from '../../../internal/src';
import type { Address, Done, ListQuery, Preview, Section, Sentence, Target, Value } from '../console.types';

export const input = new Checks('Console', (message) => new InvalidInputError(message));

/** Values that the user entered for an action, by name. */
export type Input = Readonly<Record<string, string | number>>;

/**
 * Returns the section with a check before each action, so that sections need no such checks. The check refuses an action that the section
 * does not have, and a list as the target of an action for one thing.
 */
export function checked(section: Section): Section {
  const check = (action: string, target: Target): void => {
    const known = section.actions.find(({ name }) => name === action);
    if (known === undefined) {
      const names = section.actions.map(({ name }) => name).join(', ') || 'none';
      throw input.error(`The section ${section.name} has no action ${shown(action)}. Known: ${names}.`);
    }
    if (known.on !== 'one' || 'address' in target) return;
    throw input.error(`The action ${action} is for one thing, not for a whole list. Pass the address of that thing.`);
  };
  return {
    ...section,
    preview: async (action, target, given) => {
      check(action, target);
      return section.preview(action, target, given);
    },
    run: async (action, target, given, expected) => {
      check(action, target);
      return section.run(action, target, given, expected);
    },
  };
}

/** Returns the address of the target of an action on one thing. */
export function oneOf(target: Target): Address {
  return (target as { readonly address: Address }).address;
}

/** Always throws. @throws InvalidInputError that names the address */
export function unknownAddress(address: Address): never {
  throw input.error(`The console has nothing at ${shown(address.join('/'))}.`);
}

/** Returns `limit` and `cursor` for a call that lists items. @param most maximum number of items that the call returns */
export function pageOf({ limit, cursor }: Pick<ListQuery, 'limit' | 'cursor'>, most = Infinity) {
  return { limit: Math.min(limit, most), ...(cursor !== undefined && { cursor }) };
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

/** Returns the preview of an action on one thing. */
export function one(sample: string, sentence?: Sentence, expected?: string): Preview {
  const more = { ...(sentence && { sentence }), ...(expected !== undefined && { expected }) };
  return { count: 1, more: false, samples: [sample], ...more };
}

/** Returns the preview of an action that would change nothing. `sentence` has the reason. */
export function nothing(sentence?: Sentence): Preview {
  return { count: 0, more: false, samples: [], ...(sentence && { sentence }) };
}

/** Returns the result of an action that changed nothing. `sentence` has the reason. */
export function refused(sentence: Sentence): Done {
  return { count: 0, refused: sentence };
}
