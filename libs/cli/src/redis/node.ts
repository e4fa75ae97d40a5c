import { installedClient, type InstalledClient } from './installed-client';

/** Longest time to connect, ms. */
const CONNECT_TIMEOUT_MS = 5_000;

/** A connection to one server. It does not reconnect. */
export interface Node {
  /** Address of the server: `host:port`. */
  readonly id: string;
  /** Sends a command. @returns the reply, with text instead of bytes @throws Error with the message of Redis */
  call(...words: readonly (string | number)[]): Promise<unknown>;
  close(): void;
}

/** Connects to a server with the installed client. */
export type OpenNode = (url: URL) => Promise<Node>;

/**
 * Returns a function that connects to a server.
 *
 * @param folder folder of the app, from which the client package is loaded
 * @param only the client package to use. Default: ioredis if it is installed, otherwise redis
 * @throws UsageError if no client is installed
 */
export function nodeOpener(folder: string, only?: InstalledClient['kind']): OpenNode {
  const client = installedClient(folder, only);
  return client.kind === 'ioredis'
    ? (url) => openByIoredis(client.ioredis, url)
    : (url) => openByNodeRedis(client.redis, url);
}

async function openByIoredis(
  { Redis }: Extract<InstalledClient, { kind: 'ioredis' }>['ioredis'],
  url: URL,
): Promise<Node> {
  const client = new Redis(url.href, {
    lazyConnect: true,
    retryStrategy: null,
    // The ready check of ioredis would delay commands until the server has loaded its data, but the doctor must report a loading server.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
  });
  // The error of `connect` only shows that the connection was closed. The event `error` has the cause.
  const failures = listenForFailures(client);
  await connect(() => client.connect(), failures, url);
  return {
    id: idOf(url),
    call: (name, ...args) => client.call(String(name), ...args.map(String)),
    close: () => client.disconnect(),
  };
}

async function openByNodeRedis(redis: Extract<InstalledClient, { kind: 'redis' }>['redis'], url: URL): Promise<Node> {
  const socket = { reconnectStrategy: false, connectTimeout: CONNECT_TIMEOUT_MS };
  const client = redis.createClient({ url: url.href, RESP: 2, socket });
  const failures = listenForFailures(client);
  await connect(() => client.connect(), failures, url);
  return { id: idOf(url), call: (...words) => client.sendCommand(words.map(String)), close: () => client.destroy() };
}

/** Collects the `error` events of a client. Without a listener, ioredis prints each error, and node-redis ends the process. */
function listenForFailures(client: { on(event: 'error', listener: (error: Error) => void): unknown }): Error[] {
  const failures: Error[] = [];
  client.on('error', (error) => failures.push(error));
  return failures;
}

async function connect(open: () => Promise<unknown>, failures: readonly Error[], url: URL): Promise<void> {
  try {
    await open();
  } catch (error) {
    throw new ConnectError(url, failures[0] ?? (error as Error));
  }
  // `connect` of ioredis resolves even if the user or the password is wrong. The refusal comes as the event `error`.
  const [refused] = failures;
  if (refused) throw new ConnectError(url, refused);
}

/** A server cannot be reached, or refuses the user. */
export class ConnectError extends Error {
  constructor(url: URL, cause: Error) {
    const nested = (cause as AggregateError).errors as readonly Error[] | undefined;
    super(`${idOf(url)} cannot be reached: ${cause.message || (nested?.[0]?.message ?? cause.name)}`);
  }
}

function idOf(url: URL): string {
  return `${url.hostname}:${url.port || '6379'}`;
}
