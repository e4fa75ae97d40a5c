// The visitor's token. It is made when it is first needed, and stored by the browser.

/** Longest wait for a response, ms. Without it, a request that hangs would look like a slow one. */
const ANSWER_MS = 8_000;

/** The app makes no more guests for this visitor's address now. */
export class TooManyGuests extends Error {}

/**
 * Sends a request with the visitor's token. If the app refuses the token, gets a new token and sends the request once more.
 *
 * @param {string} path
 * @param {'GET' | 'POST'} method
 * @throws {TooManyGuests} if the visitor has no token, and too many others with their address got one in the last minute
 */
export async function asGuest(path, method = 'GET') {
  const first = await send(path, method);
  if (first.status !== 401) return first;
  localStorage.removeItem('token');
  return send(path, method);
}

/** Returns true if this visitor has a token. */
export function isKnown() {
  return localStorage.getItem('token') !== null;
}

/**
 * @param {string} path
 * @param {'GET' | 'POST'} method
 */
async function send(path, method) {
  const headers = { authorization: `Bearer ${await token()}` };
  return fetch(path, { method, headers, signal: AbortSignal.timeout(ANSWER_MS) });
}

async function token() {
  const known = localStorage.getItem('token');
  if (known !== null) return known;
  const response = await fetch('/guests', { method: 'POST', signal: AbortSignal.timeout(ANSWER_MS) });
  if (response.status === 429) throw new TooManyGuests();
  if (!response.ok) throw new Error(`/guests answered ${response.status}`);
  const guest = await response.json();
  localStorage.setItem('token', guest.token);
  return guest.token;
}
