// State that several parts of the page share.
import { useEffect, useRef, useState } from 'preact/hooks';
import { nowMs } from './api.js';
import { live } from './live.js';

/** How often what is shown is read again while nothing reports a change, ms. */
const REFRESH_MS = 10_000;

/** @type {Set<() => void>} */
const tickers = new Set();
setInterval(() => {
  if (document.visibilityState === 'hidden') return;
  for (const tick of [...tickers]) tick();
}, 1_000);

/** Returns the time of the server; draws again each second while the tab is shown. */
export function useNow() {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const tick = () => setNow(nowMs());
    tickers.add(tick);
    return () => void tickers.delete(tick);
  }, []);
  return now;
}

/** Returns the live connection; draws again when its state or the overview changes. */
export function useLive() {
  const [, setTurn] = useState(0);
  useEffect(() => live.listen((_, kind) => kind !== 'changed' && setTurn((turn) => turn + 1)), []);
  return live;
}

/**
 * Outcome of a load.
 * @template T
 * @typedef {{ value?: T, error?: Error & { status?: number }, loading: boolean, atMs: number, reload: () => void }} Loaded
 */

/**
 * Loads a value, and loads it again after `changed` events of its section, each ten seconds, and on `reload`. The old value is
 * shown meanwhile. Nothing is loaded again by itself while live updates rest.
 *
 * @template T
 * @param {string} key what is loaded: another key forgets the value
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {{ section?: string, refresh?: boolean }} [options] refresh: false loads again on `changed` and `reload` only
 * @returns {Loaded<T>}
 */
export function useLoad(key, load, { section, refresh = true } = {}) {
  const [state, setState] = useState(
    /** @type {{ key: string, value?: T, error?: Error, loading: boolean, atMs: number }} */ ({
      key,
      loading: true,
      atMs: 0,
    }),
  );
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const again = () => setTurn((each) => each + 1);

  useEffect(() => {
    const gone = new AbortController();
    setState((was) => ({ ...(was.key === key ? was : { key, atMs: 0 }), loading: true }));
    latest.current(gone.signal).then(
      (value) => !gone.signal.aborted && setState({ key, value, loading: false, atMs: nowMs() }),
      (error) => {
        // A value that is on the page stays there, except if the thing is gone.
        const keeps = error.status !== 404;
        if (!gone.signal.aborted) {
          setState((was) => ({ ...(keeps ? was : { key, atMs: 0 }), key, error, loading: false }));
        }
      },
    );
    return () => gone.abort();
  }, [key, turn]);

  useEffect(() => {
    const timer = setInterval(() => refresh && !live.isResting && again(), REFRESH_MS);
    const forget = live.listen((of, kind) => {
      if (kind === 'changed' && (of === undefined || section === undefined || of === section)) again();
    });
    return () => {
      clearInterval(timer);
      forget();
    };
  }, [key, section, refresh]);

  const shown = state.key === key ? state : { loading: true, atMs: 0 };
  return { ...shown, reload: again };
}
