// The overview as the server sends it over one connection, which rests while the user pauses it or the tab is hidden.
import { setClock } from './api.js';

const RETRY_MS = 5_000;

/** @type {EventSource | undefined} */
let source;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry;
let pausedByUser = false;
/** @type {Set<(section: string | undefined) => void>} */
const readers = new Set();

/** @typedef {'live' | 'paused' | 'broken'} State */

export const live = {
  /** `live`: events come in. `paused`: nothing is read by itself. `broken`: the connection is lost, and is tried again. */
  state: /** @type {State} */ ('live'),
  overview: /** @type {import('./api.js').Overview | undefined} */ (undefined),
  /** Called after each change of the state and the overview. */
  onUpdate: () => {},
  start() {
    document.addEventListener('visibilitychange', follow);
    follow();
  },
  /** Pauses, or goes on. */
  toggle() {
    pausedByUser = !pausedByUser;
    follow();
  },
  /** Lets what is shown of a section, or of all sections, be read again. @param {string} [section] */
  changed(section) {
    for (const reader of [...readers]) reader(section);
  },
  /** Calls the reader after each change, until the returned function is called. @param {(section: string | undefined) => void} reader */
  listen(reader) {
    readers.add(reader);
    return () => void readers.delete(reader);
  },
};

function follow() {
  clearTimeout(retry);
  source?.close();
  const rested = live.state === 'paused';
  if (pausedByUser || document.visibilityState === 'hidden') return become('paused');
  if (rested) {
    become('live');
    // What is shown is old.
    live.changed();
  }
  const opened = new EventSource('./api/live');
  source = opened;
  opened.addEventListener('overview', ({ data }) => {
    live.overview = JSON.parse(data);
    setClock(live.overview?.atMs);
    become('live');
  });
  opened.addEventListener('changed', ({ data }) => live.changed(JSON.parse(data).section));
  opened.addEventListener('error', () => {
    become('broken');
    // After a refusal the browser does not try again itself.
    if (opened.readyState === EventSource.CLOSED) retry = setTimeout(follow, RETRY_MS);
  });
}

/** @param {State} state */
function become(state) {
  live.state = state;
  live.onUpdate();
}
