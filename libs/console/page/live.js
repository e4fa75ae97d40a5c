// The overview as the server sends it, and what a user and the browser's tab pause.
import { setClock } from './api.js';

/**
 * `live`: events come in. `paused`: by the user. `hidden`: the tab is not shown. `broken`: the connection is lost, and is tried
 * again. `connecting`: for the first time.
 * @typedef {'live' | 'paused' | 'hidden' | 'broken' | 'connecting'} LiveState
 * @typedef {import('./api.js').Overview} Overview
 */

const RETRY_MS = 5_000;

/** One connection for the whole page. */
export class Live {
  /** @type {LiveState} */
  state = 'connecting';
  /** @type {Overview | undefined} */
  overview;
  /** @type {EventSource | undefined} */
  #source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  #paused = false;
  /** @type {Set<(section: string | undefined, kind: 'state' | 'overview' | 'changed') => void>} */
  #listeners = new Set();

  start() {
    document.addEventListener('visibilitychange', () => this.#follow());
    this.#follow();
  }

  /** Pauses, or goes on. */
  toggle() {
    this.#paused = !this.#paused;
    this.#follow();
  }

  /** Returns true while nothing should be read by itself. */
  get isResting() {
    return this.#paused || document.visibilityState === 'hidden';
  }

  /**
   * Calls the listener after each change, until the returned function is called.
   * @param {(section: string | undefined, kind: 'state' | 'overview' | 'changed') => void} listener
   */
  listen(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #follow() {
    const hidden = document.visibilityState === 'hidden';
    if (!this.isResting) {
      const rested = this.state === 'hidden' || this.state === 'paused';
      this.#open();
      // What is shown is old.
      if (rested) this.#report(undefined, 'changed');
      return;
    }
    this.#close();
    this.#become(hidden ? 'hidden' : 'paused');
  }

  #open() {
    this.#close();
    this.#become(this.overview === undefined ? 'connecting' : 'live');
    const source = new EventSource('./api/live');
    this.#source = source;
    source.addEventListener('overview', ({ data }) => {
      this.overview = JSON.parse(data);
      setClock(this.overview?.atMs);
      this.#become('live');
      this.#report(undefined, 'overview');
    });
    source.addEventListener('changed', ({ data }) => {
      this.#report(/** @type {{ section?: string }} */ (JSON.parse(data)).section, 'changed');
    });
    source.addEventListener('error', () => {
      this.#become('broken');
      // After a refusal the browser does not try again itself.
      if (source.readyState === EventSource.CLOSED) this.#retry = setTimeout(() => this.#follow(), RETRY_MS);
    });
  }

  #close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = undefined;
  }

  /** @param {LiveState} state */
  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.#report(undefined, 'state');
  }

  /** @param {string | undefined} section @param {'state' | 'overview' | 'changed'} kind */
  #report(section, kind) {
    for (const listener of [...this.#listeners]) listener(section, kind);
  }
}

export const live = new Live();
