// The address of what the page shows. It is in the hash of the URL, so that it holds under any prefix, and no server logs it.

/**
 * A place on the page.
 * @typedef {{ screen: 'overview' | 'find' | 'log' | 'history' | 'at', address: readonly string[], query: Readonly<Record<string, string>> }} Route
 */

const SCREENS = /** @type {const} */ (['find', 'log', 'history']);

/**
 * Returns the address in the form of a path: parts encoded, with slashes between them.
 * @param {readonly string[]} address
 */
export const pathOf = (address) => address.map(encodeURIComponent).join('/');

/** Returns the text of an encoded part, or the part if it is not encoded correctly. @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Reads a route from a hash such as `#/queues/tasks?filter=dead`. Screens of the page itself begin with `~`, because a section
 * could have their name.
 * @param {string} hash
 * @returns {Route}
 */
export function readRoute(hash) {
  const text = hash.replace(/^#\/?/, '');
  const mark = text.indexOf('?');
  const path = mark === -1 ? text : text.slice(0, mark);
  const query = mark === -1 ? {} : Object.fromEntries(new URLSearchParams(text.slice(mark + 1)));
  const screen = SCREENS.find((each) => path === `~${each}`);
  if (screen !== undefined) return { screen, address: [], query };
  // A part may be an empty name.
  const address = path === '' ? [] : path.split('/').map(decoded);
  return { screen: address.length === 0 ? 'overview' : 'at', address, query };
}

/**
 * Returns the hash of a route. Settings that are empty are left out.
 * @param {readonly string[] | 'overview' | 'find' | 'log' | 'history'} to
 * @param {Readonly<Record<string, string | number | undefined>>} [query]
 */
export function hashOf(to, query = {}) {
  const path = typeof to !== 'string' ? pathOf(to) : to === 'overview' ? '' : `~${to}`;
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}
