import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const LOWEST = 10_000;
const TRIES = 100;

/**
 * Returns a free TCP port of 127.0.0.1: `preferred` if it is free, else any up to `highest`.
 *
 * @param highest 10,000 to 65,535; default 65,535. If the system offers only higher ports, random ones are tried
 * @throws {Error} when none is free
 */
export async function freePort(preferred?: number, highest = 65_535): Promise<number> {
  const wishes = preferred === undefined ? [0] : [preferred, 0];
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = await tryPort(wishes[tries] ?? randomInt(LOWEST, highest + 1));
    if (port !== undefined && port <= highest) return port;
  }
  throw new Error(`No TCP port of 127.0.0.1 up to ${highest} is free.`);
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
    });
  });
}
