// @ts-check
// node bench/delay-proxy.mjs --target 6379 --delay 1
// A TCP proxy that holds every chunk back for `--delay` ms in each direction. Prints {"port":N}; ends with its stdin.
import { connect, createServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';

/** Time before the due time at which the loop stops using timers and spins, ms, because timers are 1 to 2 ms late. */
const SPIN_MS = 1.5;

const { values } = parseArgs({ options: { target: { type: 'string' }, delay: { type: 'string' } } });
const targetPort = Number(values.target);
const delayMs = Number(values.delay);
if (!Number.isInteger(targetPort) || targetPort < 1 || !(delayMs >= 0)) {
  console.error('Usage: node bench/delay-proxy.mjs --target <port> --delay <ms each way>');
  process.exit(2);
}

/**
 * Chunks of all connections, in the order of their due times. One queue is enough, because the delay is the same for all.
 * @type {{ due: number, deliver: () => void }[]}
 */
let queue = [];
let head = 0;
let armed = false;

/** @param {() => void} deliver */
function later(deliver) {
  queue.push({ due: performance.now() + delayMs, deliver });
  arm();
}

function arm() {
  const next = queue[head];
  if (armed || next === undefined) return;
  armed = true;
  const waitMs = next.due - performance.now() - SPIN_MS;
  if (waitMs < 1) setImmediate(flush);
  else setTimeout(flush, Math.floor(waitMs));
}

function flush() {
  armed = false;
  const now = performance.now();
  for (let next = queue[head]; next !== undefined && next.due <= now; next = queue[head]) {
    head += 1;
    next.deliver();
  }
  if (head > 1_024) {
    queue = queue.slice(head);
    head = 0;
  }
  arm();
}

/**
 * @param {import('node:net').Socket} source
 * @param {import('node:net').Socket} sink
 */
function carry(source, sink) {
  source.on('data', (chunk) =>
    later(() => {
      if (sink.writable && !sink.write(chunk)) source.pause();
    }),
  );
  sink.on('drain', () => source.resume());
  source.on('end', () => later(() => sink.end()));
  source.on('error', () => sink.destroy());
}

const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const upstream = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  carry(client, upstream);
  carry(upstream, client);
});

server.listen(0, '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(JSON.stringify({ port: address.port }));
});

process.stdin.resume().on('close', () => process.exit());
