import { Worker } from 'node:worker_threads';

/** Sends PING over and over, and keeps the longest time to a reply, in us, in the shared integer. */
const PINGS = `
  const { workerData: { port, longest } } = require('node:worker_threads');
  const socket = require('node:net').connect(port, '127.0.0.1').setNoDelay(true);
  let sent = 0;
  const ping = () => {
    sent = performance.now();
    socket.write('PING\\r\\n');
  };
  socket.on('connect', ping);
  socket.on('error', () => {});
  socket.on('data', () => {
    const us = Math.round((performance.now() - sent) * 1000);
    if (us > Atomics.load(longest, 0)) Atomics.store(longest, 0, us);
    setTimeout(ping, 2);
  });
`;

/**
 * Measures from a thread of its own how quickly a Redis replies, also while the thread of the test stands still. A slow reply means
 * that Redis or this process got no CPU time.
 */
export class RedisWitness {
  private readonly longest = new Int32Array(new SharedArrayBuffer(4));
  private readonly thread: Worker;

  constructor(port: number) {
    this.thread = new Worker(PINGS, { eval: true, workerData: { port, longest: this.longest } });
  }

  /** Returns the longest time to a reply since the last call, ms. */
  longestMs(): number {
    return Atomics.exchange(this.longest, 0, 0) / 1_000;
  }

  async stop(): Promise<void> {
    await this.thread.terminate();
  }
}
