// The operator's requests. The admin token is sent in a header and stored in this tab's storage. It is never in an address.
import { SaidError } from './operator-words.js';

const TRIES = 3;
/** Longest wait for a response to a read, ms; without it, a request to an app that hangs would wait for ever. */
const READ_MS = 8_000;
/** Longest wait for a response to a change, ms. A count or a large rain takes long. */
const CHANGE_MS = 60_000;
/** Pause between two attempts, ms. */
const AGAIN_MS = 400;

let token = sessionStorage.getItem('admin-token');

/** Returns true if there is a token. */
export function isSignedIn() {
  return token !== null;
}

/**
 * Sets the token for further requests; null removes it, from this tab's storage too.
 *
 * @param {string | null} next
 */
export function useToken(next) {
  token = next;
  if (next === null) sessionStorage.removeItem('admin-token');
}

/** Stores the token, so that it survives a reload of this tab. */
export function keepToken() {
  if (token !== null) sessionStorage.setItem('admin-token', token);
}

/**
 * Sends a request with the operator's token. Returns the response of `fetch`.
 *
 * @param {'GET' | 'POST'} method
 * @param {string} path
 * @param {{ body?: unknown, headers?: Record<string, string>, signal: AbortSignal }} options `signal` ends the wait
 */
export function send(method, path, { body, headers, signal }) {
  const all = { authorization: `Bearer ${token}`, ...headers };
  if (body === undefined) return fetch(path, { method, headers: all, signal });
  return fetch(path, {
    method,
    headers: { ...all, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
}

/**
 * Sends a GET request. Returns the body.
 *
 * @param {string} path
 * @returns {Promise<any>}
 * @throws {SaidError} if the app refuses it, is unreachable, or does not respond in 8 s
 */
export async function read(path) {
  const response = await send('GET', path, { signal: AbortSignal.timeout(READ_MS) }).catch(() => {
    throw new SaidError((words) => words.unreachable);
  });
  return answerOf(path, response);
}

/**
 * Sends a POST request, up to three times while no response or a 503 comes. All attempts have the same idempotency key, by which
 * the idempotent routes of the app do not repeat what they have done.
 *
 * @param {string} path
 * @param {object} body
 * @returns {Promise<any>}
 * @throws {SaidError} as `read`, but an attempt waits up to 60 s
 */
export async function change(path, body = {}) {
  const headers = { 'idempotency-key': newKey() };
  for (let tries = 1; ; tries += 1) {
    const signal = AbortSignal.timeout(CHANGE_MS);
    const response = await send('POST', path, { body, headers, signal }).catch(() => undefined);
    const lost = response === undefined || response.status === 503;
    if (!lost || tries === TRIES) {
      if (response === undefined) throw new SaidError((words) => words.unreachable);
      return answerOf(path, response);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/**
 * @param {string} path
 * @param {Response} response
 */
async function answerOf(path, response) {
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) throw new SaidError((words) => words.notAdmin);
  if (!response.ok) {
    const { status } = response;
    const { code, message = answer.detail } = answer;
    throw new SaidError((words) => words.refusal({ path, status, code, message }));
  }
  return answer;
}

/** Returns a random key. `crypto.randomUUID` is missing on pages that are loaded over HTTP from another machine. */
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
