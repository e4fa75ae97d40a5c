// Holds a lock until the process was stopped for longer than the lease, and then tells what its lock says.
const { boot, lib } = require('./app.cjs');
const { LockModule, LockService } = lib('lock');

const print = (line) => process.stdout.write(`${line}\n`);

async function main() {
  const { app } = await boot([LockModule.forRoot({})], []);
  const lock = await app.get(LockService).acquire('held', { leaseMs: 1_000 });
  const { signal } = lock;
  print(`fence ${lock.fence}`);
  let seenAt = performance.now();
  // A gap between two turns is the stop; what is true in the first turn after it is what is told.
  while (performance.now() - seenAt < 800) {
    seenAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  let thrown = '';
  try {
    lock.assertHeld();
  } catch ({ code }) {
    thrown = code;
  }
  await new Promise((resolve) => setImmediate(resolve));
  const { aborted } = signal;
  print(`woke ${thrown} ${aborted} ${await lock.release()}`);
}
void main();
