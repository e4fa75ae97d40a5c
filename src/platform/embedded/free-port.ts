import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const LOWEST = 10_000;
const TRIES = 100;

/**
 * Returns a free TCP port of 127.0.0.1: `preferred` if that port is free and not above `highest`, else any free port up to
 * `highest`.
 *
 * @param highest 10,000 to 65,535; default 65,535. If the port that the system offers is higher, random ports are tried
 * @throws {Error} after 100 attempts, with the error of the last one
 */
export async function freePort(preferred?: number, highest = 65_535): Promise<number> {
  let problem: unknown;
  const wishes = preferred === undefined ? [0] : [preferred, 0];
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = await tryPort(wishes[tries] ?? randomInt(LOWEST, highest + 1)).catch((error: unknown) => {
      problem = error;
      return undefined;
    });
    if (port !== undefined && port <= highest) return port;
  }
  throw new Error(
    `No TCP port of 127.0.0.1 up to ${highest} could be opened in ${TRIES} attempts. The last error: ${String(problem)}`,
    { cause: problem },
  );
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
    });
  });
}
