// The operator's requests. The admin token is sent in a header and stored in this tab's storage. It is never in an address.
import { SaidError } from './operator-words.js';

const TRIES = 3;
/** Pause between two attempts, ms. */
const AGAIN_MS = 400;

let token = sessionStorage.getItem('admin-token');

/** Returns true if there is a token. */
export function isSignedIn() {
  return token !== null;
}

/** Sets the token for further requests; null removes it, from this tab's storage too. */
export function useToken(next) {
  token = next;
  if (next === null) sessionStorage.removeItem('admin-token');
}

/** Stores the token, so that it survives a reload of this tab. */
export function keepToken() {
  sessionStorage.setItem('admin-token', token);
}

/** Sends a request with the operator's token. Returns the response of `fetch`. */
export function send(method, path, { body, headers, signal } = {}) {
  const all = { authorization: `Bearer ${token}`, ...headers };
  if (body !== undefined) all['content-type'] = 'application/json';
  return fetch(path, { method, headers: all, body: JSON.stringify(body), signal });
}

/** Sends a GET request. Returns the body. @throws {SaidError} if the app refuses it, or is unreachable */
export async function read(path) {
  const response = await send('GET', path).catch(() => {
    throw new SaidError((words) => words.unreachable);
  });
  return answerOf(path, response);
}

/**
 * Sends a POST request, up to three times while no response or a 503 comes. All attempts have the same idempotency key, by which
 * the idempotent routes of the app do not repeat what they have done. @throws {SaidError} as `read`
 */
export async function change(path, body = {}) {
  const headers = { 'idempotency-key': newKey() };
  for (let tries = 1; ; tries += 1) {
    const response = await send('POST', path, { body, headers }).catch((error) => error);
    const lost = response instanceof Error || response.status === 503;
    if (!lost || tries === TRIES) {
      if (response instanceof Error) throw new SaidError((words) => words.unreachable);
      return answerOf(path, response);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

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
