// The address of what the page shows. It is in the hash of the URL, so that it holds under any prefix, and no server logs it.

/** @typedef {Readonly<Record<string, string>>} Query */
/** @typedef {{ screen: 'overview' | 'find' | 'log' | 'history' | 'at', address: readonly string[], query: Query }} Route a place on the page */

const SCREENS = /** @type {const} */ (['find', 'log', 'history']);

/** Returns an address as a path: encoded parts, joined by slashes. @param {readonly string[]} address */
export const pathOf = (address) => address.map(encodeURIComponent).join('/');

/** Returns the query of a URL, without empty settings. @param {Readonly<Record<string, string | number | undefined>>} settings */
export function queryOf(settings) {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined && value !== '');
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

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
  const [path = '', ...rest] = hash.replace(/^#\/?/, '').split('?');
  const query = Object.fromEntries(new URLSearchParams(rest.join('?')));
  const screen = SCREENS.find((each) => path === `~${each}`);
  if (screen !== undefined) return { screen, address: [], query };
  // A part may be an empty name.
  const address = path === '' ? [] : path.split('/').map(decoded);
  return { screen: address.length === 0 ? 'overview' : 'at', address, query };
}

/**
 * Returns the hash of a route.
 * @param {readonly string[] | 'overview' | 'find' | 'log' | 'history'} to
 * @param {Readonly<Record<string, string | number | undefined>>} [settings]
 */
export function hashOf(to, settings = {}) {
  const path = typeof to !== 'string' ? pathOf(to) : to === 'overview' ? '' : `~${to}`;
  const query = queryOf(settings);
  return `#/${path}${query === '' ? '' : `?${query}`}`;
}

/**
 * Returns the hash of what an action changes: one item, or a list with its filter.
 * @param {import('../src/console.types.ts').Target} target
 */
export const hashOfTarget = (target) =>
  'list' in target ? hashOf(target.list, { filter: target.filter }) : hashOf(target.address);
