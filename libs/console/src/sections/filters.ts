import { shown } from '../../../internal/src';
import { input } from './support';

/**
 * Parses the filter of a list. An example is `dead queue:emails name:send mail`: the word `dead`, then the names `queue:` and `name:`, each
 * with a text. A text may contain spaces, and ends before the next name that is in `known`.
 *
 * @param known words and names that the list allows; a name ends in `:`
 * @returns the word as `state`, and each text under its name without the colon
 * @throws InvalidInputError if the list does not have the filter
 */
export function parseFilter(filter: string | undefined, known: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const names = known.filter((name) => name.endsWith(':'));
  const at = new RegExp(`(?:^|\\s)(${names.join('|')})`, 'g');
  const starts = names.length === 0 ? [] : [...(filter ?? '').matchAll(at)];
  const words = (filter ?? '').slice(0, starts[0]?.index).trim();
  if (words !== '') {
    if (!known.includes(words)) throw input.error(`filter is ${shown(filter)}. Expected one of: ${known.join(', ')}.`);
    found.state = words;
  }
  for (const [i, match] of starts.entries()) {
    const text = (filter ?? '').slice(match.index + match[0].length, starts[i + 1]?.index).trim();
    if (text !== '') found[(match[1] as string).slice(0, -1)] = text;
  }
  return found;
}
