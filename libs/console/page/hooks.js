// State that several parts of the page share.
import { useEffect, useRef, useState } from 'preact/hooks';
import { nowMs } from './api.js';
import { live } from './live.js';

/** How often what is shown is read again while nothing reports a change, ms. */
const REFRESH_MS = 10_000;

/**
 * @import { Action, Target } from '../src/console.types.ts'
 * @typedef {{ section: string, action: Action, target: Target }} Wanted an action that the user was offered, and its target
 */

export const page = {
  /** The user and the sections; screens are drawn once they are known. */
  me: /** @type {import('./api.js').Me} */ (/** @type {unknown} */ (undefined)),
  /** Opens the dialog of an action; undefined for a user who may not act. @type {((section: string, action: string, target: Target) => void) | undefined} */
  ask: undefined,
  /** Draws all again. */
  redraw: () => {},
};

/** Returns what the server said about a section. @param {string | undefined} name */
export const sectionOf = (name) => page.me.sections.find((each) => each.name === name);

/**
 * Outcome of a load. `atMs` is 0 before the first value.
 * @template T
 * @typedef {{ value?: T, error?: Error & { status?: number }, atMs: number, reload: () => void }} Loaded
 */

/**
 * Loads a value, and loads it again after a change of its section, each ten seconds, and on `reload`. The old value is shown
 * meanwhile. Nothing is loaded again by itself while live updates rest.
 *
 * @template T
 * @param {string} key what is loaded: another key forgets the value
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {{ section?: string | undefined, refresh?: boolean, delayMs?: number }} [options] `delayMs` is the wait before each load
 * @returns {Loaded<T>}
 */
export function useLoad(key, load, { section, refresh = true, delayMs = 0 } = {}) {
  const [state, setState] = useState(/** @type {Omit<Loaded<T>, 'reload'> & { key: string }} */ ({ key, atMs: 0 }));
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = () => setTurn((each) => each + 1);

  useEffect(() => {
    const gone = new AbortController();
    const timer = setTimeout(() => {
      latest.current(gone.signal).then(
        (value) => !gone.signal.aborted && setState({ key, value, atMs: nowMs() }),
        (error) => {
          // A value that is on the page stays there, except if the thing is gone.
          const kept = (/** @type {typeof state} */ was) => error.status !== 404 && was.key === key;
          if (!gone.signal.aborted) setState((was) => ({ ...(kept(was) ? was : { atMs: 0 }), key, error }));
        },
      );
    }, delayMs);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [key, turn]);

  useEffect(() => {
    if (!refresh) return undefined;
    const timer = setInterval(() => live.state !== 'paused' && reload(), REFRESH_MS);
    const forget = live.listen((of) => (of === undefined || section === undefined || of === section) && reload());
    return () => {
      clearInterval(timer);
      forget();
    };
  }, [key, section, refresh]);

  return { ...(state.key === key ? state : { atMs: 0 }), reload };
}
