import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { ProxyLink } from '../../src/servers/proxy-link';

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Returns the two ends of a TCP connection. */
async function openPair(): Promise<[near: Socket, far: Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const near = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  await once(near, 'connect');
  const [far] = await accepted;
  for (const socket of [near, far]) socket.on('error', () => undefined);
  sockets.push(near, far);
  return [near, far];
}

it('a reset closes the connections also while the end of a stream is being sent', async () => {
  const [client] = await openPair();
  const [upstream] = await openPair();
  let isClosed = false;
  const closed = new Promise<void>((resolve) => {
    const link = new ProxyLink(client, upstream, {
      latencyMs: () => 0,
      swallows: () => false,
      losesRequest: () => false,
      onClose: resolve,
    });
    client.end();
    upstream.end();
    // Node asks libuv to send the end in the next tick.
    process.nextTick(() => link.reset());
  }).then(() => (isClosed = true));
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 2_000))]);
  expect([isClosed, client.closed, upstream.closed]).toEqual([true, true, true]);
});
