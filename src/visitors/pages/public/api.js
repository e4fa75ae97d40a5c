// The operator's requests. The token is in a header and in this tab's storage, never in an address.
import { SaidError } from './operator-words.js';

const TRIES = 3;
const AGAIN_MS = 400;

let token = sessionStorage.getItem('admin-token');

/** Returns true if there is a token. */
export function isSignedIn() {
  return token !== null;
}

/** Sets the token; null forgets it. */
export function useToken(next) {
  token = next;
  if (next === null) sessionStorage.removeItem('admin-token');
}

/** Keeps the token for this tab. */
export function keepToken() {
  sessionStorage.setItem('admin-token', token);
}

/** Sends a request as the operator. */
export function send(method, path, { body, headers, signal } = {}) {
  const all = { authorization: `Bearer ${token}`, ...headers };
  if (body !== undefined) all['content-type'] = 'application/json';
  return fetch(path, { method, headers: all, body: JSON.stringify(body), signal });
}

/** Reads. */
export async function read(path) {
  const response = await send('GET', path).catch(() => {
    throw new SaidError((words) => words.unreachable);
  });
  return answerOf(path, response);
}

/**
 * Sends a change. If no response came, sends it again with the same key: if the app has carried it out, it returns the first
 * response again.
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
    const said = answer.message ?? answer.detail;
    throw new SaidError((words) =>
      said === undefined ? words.answered(path, response.status) : words.serverSays(said),
    );
  }
  return answer;
}

/** Not `randomUUID`, which browsers have on secure origins only. */
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
