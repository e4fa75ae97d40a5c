// The calls to the server. URLs are relative to the page, so that they hold under any prefix.
import { pathOf } from './route.js';

/**
 * @typedef {import('../src/console.types.ts').Address} Address
 * @typedef {import('../src/console.types.ts').Target} Target
 * @typedef {import('../src/console.types.ts').Sentence} Sentence
 * @typedef {import('../src/console.types.ts').Summary} Summary
 * @typedef {import('../src/console.types.ts').Listing} Listing
 * @typedef {import('../src/console.types.ts').Story} Story
 * @typedef {import('../src/console.types.ts').Match} Match
 * @typedef {import('../src/console.types.ts').Preview} Preview
 * @typedef {import('../src/console.types.ts').Done} Done
 * @typedef {import('../src/console.types.ts').Action & { lists?: readonly string[] }} Action
 * @typedef {{ name: string, filters: readonly string[] }} ListOfSection
 * @typedef {{ name: string, lists: readonly ListOfSection[], actions: readonly Action[] }} SectionOfMe
 * @typedef {{ role: 'read' | 'act', actor: string, sections: readonly SectionOfMe[], readOnly: boolean, csrf: string, nowMs?: number }} Me
 * @typedef {{ atMs: number, sections: readonly { name: string, summary?: Summary, failed?: string }[] }} Overview
 * @typedef {{ section: string, action: string, target: Target, input: Readonly<Record<string, string | number>>, expected?: string }} Act
 * @typedef {{ atMs: number, actor: string, section: string, action: string, target: Target, result: string, input?: Readonly<Record<string, string | number>>, count?: number, refused?: Sentence, message?: string }} LogItem
 * @typedef {{ section: string, name: string, points: readonly (readonly [number, Readonly<Record<string, number>>])[] }} Series
 */

/** A response that is not 2xx, or none at all (`status` 0). */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @type {string} */
let csrf = '';
/** Clock of the server minus that of the browser, ms. */
let skewMs = 0;

/** Returns the time of the server, ms. */
export const nowMs = () => Date.now() + skewMs;

/** Corrects the clock by an instant that the server has just written. @param {number | undefined} serverMs */
export function setClock(serverMs) {
  // Less is what a response takes.
  if (serverMs !== undefined && Math.abs(serverMs - nowMs()) > 1_500) skewMs = serverMs - Date.now();
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
async function call(path, init) {
  const response = await fetch(`./api/${path}`, { ...init, credentials: 'same-origin' }).catch((error) => {
    // A request that the page itself gave up.
    if (init?.signal?.aborted) throw error;
    throw new ApiError(0, String(error.message ?? error));
  });
  const text = await response.text();
  if (!response.ok) throw new ApiError(response.status, messageIn(text) ?? `${response.status} ${response.statusText}`);
  try {
    return JSON.parse(text);
  } catch {
    // A proxy or a sign-in page that answers instead of the API.
    throw new ApiError(response.status, text.slice(0, 200));
  }
}

/** @param {string} text */
function messageIn(text) {
  try {
    const { message } = JSON.parse(text);
    return Array.isArray(message) ? message.join(' ') : typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

/** @param {Readonly<Record<string, string | number | undefined>>} query */
function queryOf(query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

/** @param {Act} act */
const body = (act) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-luanest-console': csrf },
  body: JSON.stringify(act),
});

/** Rows of a page of a list. */
const LIMIT = 50;

export const api = {
  /** @returns {Promise<Me>} */
  async me() {
    const me = await call('me');
    csrf = me.csrf;
    setClock(me.nowMs);
    return me;
  },
  /** @returns {Promise<Overview>} */
  overview: () => call('overview'),
  /** @type {(address: Address, filter: string | undefined, cursor: string | undefined, signal: AbortSignal) => Promise<Listing>} */
  list: (address, filter, cursor, signal) =>
    call(`list?${queryOf({ address: pathOf(address), filter, cursor, limit: LIMIT })}`, { signal }),
  /** @type {(address: Address, signal: AbortSignal) => Promise<Story>} */
  show: (address, signal) => call(`show?${queryOf({ address: pathOf(address) })}`, { signal }),
  /** @type {(id: string, signal: AbortSignal) => Promise<{ matches: readonly Match[] }>} */
  find: (id, signal) => call(`find?${queryOf({ id })}`, { signal }),
  /** @type {(cursor: string | undefined, signal: AbortSignal) => Promise<{ items: readonly LogItem[], nextCursor?: string }>} */
  log: (cursor, signal) => call(`log?${queryOf({ cursor })}`, { signal }),
  /** @type {(minutes: number, signal: AbortSignal) => Promise<{ series: readonly Series[] }>} */
  history: (minutes, signal) => call(`history?${queryOf({ minutes })}`, { signal }),
  /** @type {(act: Act, signal: AbortSignal) => Promise<Preview>} */
  preview: (act, signal) => call('preview', { ...body(act), signal }),
  /** @type {(act: Act) => Promise<Done>} */
  act: (act) => call('act', body(act)),
};
