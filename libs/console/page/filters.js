// The filter of a list: one of the list's words, and texts after names that end in `:`, such as `dead queue:emails`.

/** @typedef {{ state: string, texts: Readonly<Record<string, string>> }} Filter */

/**
 * Reads a filter. A text ends before the next known name.
 * @param {string} filter
 * @param {readonly string[]} known the filters of the list
 * @returns {Filter}
 */
export function readFilter(filter, known) {
  const starts = known
    .filter((name) => name.endsWith(':'))
    .flatMap((name) => {
      const at = ` ${filter}`.indexOf(` ${name}`);
      return at === -1 ? [] : [{ name, at }];
    })
    .sort((one, other) => one.at - other.at);
  const texts = starts.map(({ name, at }, index) => [
    name,
    filter.slice(at + name.length, starts[index + 1]?.at ?? filter.length).trim(),
  ]);
  return { state: filter.slice(0, starts[0]?.at ?? filter.length).trim(), texts: Object.fromEntries(texts) };
}

/** Returns a filter as a text. @param {Filter} filter */
export const writeFilter = ({ state, texts }) =>
  [
    ...(state === '' ? [] : [state]),
    ...Object.entries(texts).flatMap(([name, text]) => (text.trim() === '' ? [] : [name + text.trim()])),
  ].join(' ');
