// The visitor as the app knows them: a token, made when it is first needed, and kept by the browser.

/** Longest wait for an answer, ms: a request that hangs must not look like one that works. */
const ANSWER_MS = 8_000;

/** Sends a request as this guest. A token that the app no longer accepts is replaced once. */
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

async function send(path, method) {
  const headers = { authorization: `Bearer ${await token()}` };
  return fetch(path, { method, headers, signal: AbortSignal.timeout(ANSWER_MS) });
}

async function token() {
  const known = localStorage.getItem('token');
  if (known !== null) return known;
  const response = await fetch('/guests', { method: 'POST', signal: AbortSignal.timeout(ANSWER_MS) });
  if (!response.ok) throw new Error(`/guests answered ${response.status}`);
  const guest = await response.json();
  localStorage.setItem('token', guest.token);
  return guest.token;
}
