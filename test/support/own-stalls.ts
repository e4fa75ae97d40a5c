import { performance } from 'node:perf_hooks';

const EVERY_MS = 50;
/** As of `Pulse`: what takes longer was held up by the machine. */
const STALL_MS = 400;

/** Tells when this process stood still, as soon as it goes on; a pulse in another one would not see it. */
export function ownStalls(tell: (ms: number) => void): void {
  let seenAt = performance.now();
  setInterval(() => {
    const now = performance.now();
    if (now - seenAt > STALL_MS) tell(Math.ceil(now - seenAt));
    seenAt = now;
  }, EVERY_MS).unref();
}
