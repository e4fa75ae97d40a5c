import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const zip = promisify(gzip);

interface Reply {
  getHeader(name: string): unknown;
  header(name: string, value: string): Reply;
  removeHeader(name: string): Reply;
}

interface Request {
  readonly method: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

type OnSend = (request: Request, reply: Reply, payload: unknown) => Promise<unknown>;

/** The part of `FastifyAdapter` that is used here, for each of its kinds of server. */
interface Adapter {
  getInstance(): { addHook(name: 'onSend', hook: OnSend): unknown };
}

/** Least length of a JSON text that is compressed. A shorter one fits into one packet. */
const LEAST_LENGTH = 1_400;

/**
 * Returns the first of the offered encodings that a request accepts; undefined if it accepts none.
 *
 * @param accepted value of the header `accept-encoding`
 */
export function acceptedOf<T extends string>(accepted: unknown, offered: readonly T[]): T | undefined {
  if (typeof accepted !== 'string') return undefined;
  const refused = /;\s*q=0(\.0*)?\s*$/;
  const names = accepted
    .toLowerCase()
    .split(',')
    .filter((part) => !refused.test(part))
    .map((part) => part.split(';')[0]?.trim());
  return offered.find((name) => names.includes(name));
}

/**
 * Makes a server compress longer JSON responses to GET requests. Others stay as they are: streams, files, and responses that an
 * idempotent route repeats.
 */
export function compressJson(adapter: Adapter): void {
  adapter.getInstance().addHook('onSend', async (request, reply, payload) => {
    const json = String(reply.getHeader('content-type')).startsWith('application/json');
    if (!json || request.method !== 'GET' || typeof payload !== 'string' || payload.length < LEAST_LENGTH)
      return payload;
    reply.header('vary', 'accept-encoding');
    if (acceptedOf(request.headers['accept-encoding'], ['gzip']) === undefined) return payload;
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return zip(payload);
  });
}
