import { setMaxListeners } from 'node:events';

/**
 * Allows any number of listeners on an AbortSignal, and returns it. Node 20 warns of a memory leak at the eleventh listener, although
 * eleven operations that run at the same time may share one signal. Each operation must remove its listener when it ends.
 */
export function unlimitedListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
