// A process of the fleet of fleet.bench.mjs. Its parent names a call; the process makes it, two at a time, and counts how many
// ended in the window of time that the parent names then.
import { createRequire } from 'node:module';
import { CLIENTS } from './harness.mjs';
import { openOperations } from './operations.mjs';

const require = createRequire(import.meta.url);
const [port, prefix] = process.argv.slice(2);
const IN_FLIGHT = 2;

const opened = {};
for (const [suffix, client] of Object.entries(CLIENTS)) {
  const { operations } = await openOperations(require(client).Redis, Number(port), prefix);
  opened[suffix] = operations;
}

/** Number of the next call. It only grows, so that every grab is by another user. */
let next = 0;
let window = { fromMs: Infinity, toMs: Infinity };

async function work({ suffix, operation, contender, activity }) {
  window = { fromMs: Infinity, toMs: Infinity };
  const call = opened[suffix][operation][contender];
  let [count, begun] = [0, 0];
  const one = async () => {
    await call(next++, activity);
    if (++begun === IN_FLIGHT) process.send({ ready: true });
    while (Date.now() < window.toMs) {
      await call(next++, activity);
      if (Date.now() >= window.fromMs && Date.now() < window.toMs) count += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, one));
  process.send({ count });
}

process.on('message', (message) => {
  if (message.toMs !== undefined) window = message;
  else void work(message);
});
process.on('disconnect', () => process.exit());
process.send({ open: true });
