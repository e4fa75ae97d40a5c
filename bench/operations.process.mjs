// A process of processes.mjs, which makes the calls that its parent names. It answers each message once.
import { measure } from './harness.mjs';
import { openOperations } from './operations.mjs';

const { port, ...options } = JSON.parse(process.argv[2]);
const { operations, stock } = await openOperations(port, options);

/** Number of the next call. It only grows, so that every grab is by another user. */
let next = 0;
let window = { fromMs: Infinity, toMs: Infinity };

/** Makes calls until the window ends, and says when all have begun. Returns how many ended in the window, and Node's CPU in it. */
async function callUntilEnd(call, inFlight) {
  window = { fromMs: Infinity, toMs: Infinity };
  let [count, begun] = [0, 0];
  let from, used;
  const one = async () => {
    await call();
    if (++begun === inFlight) process.send({ ready: true });
    while (Date.now() < window.toMs) {
      await call();
      const now = Date.now();
      if (now < window.fromMs) continue;
      from ??= process.cpuUsage();
      if (now < window.toMs) count += 1;
    }
    used ??= process.cpuUsage(from);
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  return { count, cpuMicros: used.user + used.system };
}

/** Makes calls in stages, one after another. Returns Node's CPU a call of each stage. */
async function callInStages(call, stages) {
  const micros = [];
  for (const calls of stages) micros.push((await measure(call, calls, 1)).cpuMicros);
  return { micros };
}

async function answer({ operation, contender, activity, inFlight, calls, stages, packets }) {
  if (packets !== undefined) return { stocked: await stock[contender](activity, packets) };
  const caller = operations[operation][contender];
  const call = () => caller(next++, activity);
  if (stages !== undefined) return callInStages(call, stages);
  return calls === undefined ? callUntilEnd(call, inFlight) : measure(call, calls, inFlight);
}

process.on('message', (message) => {
  if (message.toMs !== undefined) window = message;
  else void answer(message).then((answered) => process.send(answered));
});
process.on('disconnect', () => process.exit());
process.send({ open: true });
