// The calls to the server. URLs are relative to the page, so that they hold under any prefix.
import { pathOf, queryOf } from './route.js';

/**
 * @import { Action, Address, Done, Listing, Match, Preview, Sentence, Story, Summary, Target } from '../src/console.types.ts'
 * @typedef {Readonly<Record<string, string | number>>} Input
 * @typedef {{ name: string, lists: readonly { name: string, filters: readonly string[] }[], actions: readonly Action[] }} SectionOfMe
 * @typedef {{ role: 'read' | 'act', actor: string, sections: readonly SectionOfMe[], readOnly: boolean, csrf: string, nowMs?: number }} Me
 * @typedef {{ name: string, summary?: Summary, failed?: string }} SectionState
 * @typedef {{ atMs: number, sections: readonly SectionState[] }} Overview
 * @typedef {{ section: string, action: string, target: Target, input: Input, expected?: string }} Act
 * @typedef {{ atMs: number, actor: string, section: string, action: string, target: Target, result: string, input?: Input, count?: number, refused?: Sentence, message?: string }} LogItem
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

/** Rows of a page of a list. */
const LIMIT = 50;

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

/** @param {string} path @param {RequestInit} [init] @returns {Promise<any>} */
async function call(path, init) {
  const response = await fetch(`./api/${path}`, { ...init, credentials: 'same-origin' }).catch((error) => {
    // A request that the page itself gave up.
    if (init?.signal?.aborted) throw error;
    throw new ApiError(0, String(error.message ?? error));
  });
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy or a sign-in page responded instead of the API.
    throw new ApiError(response.status, text.slice(0, 200));
  }
  if (response.ok) return body;
  const { message = `${response.status} ${response.statusText}` } = body;
  throw new ApiError(response.status, [message].flat().join(' '));
}

/** @param {'preview' | 'act'} route @param {Act} act @param {AbortSignal} [signal] */
const post = (route, act, signal) =>
  call(route, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-luanest-console': csrf },
    body: JSON.stringify(act),
    ...(signal && { signal }),
  });

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
  /** @type {(address: Address, query: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<Listing>} */
  list: (address, { filter, cursor }, signal) =>
    call(`list?${queryOf({ address: pathOf(address), filter, cursor, limit: LIMIT })}`, { signal }),
  /** @type {(address: Address, signal: AbortSignal) => Promise<Story>} */
  show: (address, signal) => call(`show?${queryOf({ address: pathOf(address) })}`, { signal }),
  /** @type {(id: string, signal: AbortSignal) => Promise<{ matches: readonly Match[], failed?: readonly string[] }>} */
  find: (id, signal) => call(`find?${queryOf({ id })}`, { signal }),
  /** @type {(cursor: string | undefined, signal: AbortSignal) => Promise<{ items: readonly LogItem[], nextCursor?: string }>} */
  log: (cursor, signal) => call(`log?${queryOf({ cursor })}`, { signal }),
  /** @type {(minutes: number, signal: AbortSignal) => Promise<{ series: readonly Series[] }>} */
  history: (minutes, signal) => call(`history?${queryOf({ minutes })}`, { signal }),
  /** @type {(act: Act, signal: AbortSignal) => Promise<Preview>} */
  preview: (act, signal) => post('preview', act, signal),
  /** @type {(act: Act) => Promise<Done>} */
  act: (act) => post('act', act),
};
