import { setMaxListeners } from 'node:events';

/**
 * Allows any number of listeners on a signal, and returns the signal. By default, Node 20 warns of a memory leak at the eleventh
 * listener. But eleven listeners are normal if eleven operations run at the same time. Each operation must remove its listener when it
 * ends.
 */
export function unlimitedListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
