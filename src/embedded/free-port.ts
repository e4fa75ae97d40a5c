import { createServer } from 'node:net';

/** A TCP port of 127.0.0.1 that nobody listens on: `preferred` when it is free, else any. */
export async function freePort(preferred?: number): Promise<number> {
  const wished = preferred === undefined ? undefined : await tryPort(preferred);
  const port = wished ?? (await tryPort(0));
  if (port === undefined) throw new Error('No TCP port of 127.0.0.1 is free.');
  return port;
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
