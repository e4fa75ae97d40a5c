import { type ExecutionContext, Logger } from '@nestjs/common';
import type { EventEmitter } from 'node:events';
import { isIPv4, isIPv6 } from 'node:net';
import { sendJsonAs } from '../../../internal/src';
import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitContextAdapter } from './context-adapter';

/** Returns the eight 16-bit numbers of an IPv6 address; undefined for other text. */
function groupsOf(address: string): number[] | undefined {
  if (!isIPv6(address)) return undefined;
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  let text = address;
  if (dotted) {
    const [a = 0, b = 0, c = 0, d = 0] = dotted.slice(1).map(Number);
    text = `${address.slice(0, dotted.index)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [head = '', tail] = text.split('::');
  const parse = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const [left, right] = [parse(head), parse(tail ?? '')];
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

/** Matches an address as some proxies write it: `192.0.2.1:4001`, `[2001:db8::1]:4001` or `[2001:db8::1]`. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]+)\](?::\d+)?)$/;

/**
 * Returns true for an address with a port or in brackets. Such a text cannot identify a client, whose port usually changes with each
 * connection.
 */
export function hasPort(address: string): boolean {
  return WITH_PORT.test(address);
}

/**
 * Returns a text that identifies a client, made from its address. An IPv4 address is the text itself, even if it is mapped into IPv6
 * (`::ffff:192.0.2.1`). Of an IPv6 address, only the leading bits count, because a client often has a whole network of addresses. Any other
 * text is returned unchanged.
 *
 * @param address address of the socket, or from a header of the proxy; a port and a zone such as `%eth0` are removed
 * @param ipv6Prefix number of leading bits of an IPv6 address that identify one client, 32 to 128
 */
export function clientOf(address: string, ipv6Prefix: number): string {
  if (!address.includes(':')) return address;
  const [, v4, v6] = WITH_PORT.exec(address) ?? [];
  if (v4 !== undefined || v6 !== undefined) return clientOf(v4 ?? (v6 as string), ipv6Prefix);
  const zone = address.indexOf('%');
  const groups = groupsOf(zone === -1 ? address : address.slice(0, zone));
  if (groups === undefined) return address;
  const [a = 0, b = 0] = groups.slice(6);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const ipv4 = `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
    if (isIPv4(ipv4)) return ipv4;
  }
  const cut = groups.map((group, i) => {
    const bits = Math.min(16, Math.max(0, ipv6Prefix - 16 * i));
    return (group & (0xffff << (16 - bits)) & 0xffff).toString(16);
  });
  return `${cut.join(':')}/${ipv6Prefix}`;
}

/** Parts of a request that show if the app trusts proxies. */
export interface ProxiedRequest {
  readonly ip?: unknown;
  /** Undefined on Fastify if `trustProxy` is not set. */
  readonly ips?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** Express only. */
  readonly app?: { get?(setting: string): unknown };
  /** Fastify only. */
  readonly server?: object;
}

const FIX = {
  untrusted:
    'A request has the header X-Forwarded-For, but the app trusts no proxy. If the app is behind a proxy, set `trust proxy` ' +
    '(Express) or `trustProxy` (Fastify) to the addresses or the number of your proxies. Without this setting, rules without ' +
    'a subject function count all clients behind the proxy as one client.',
  permissive:
    'The app trusts every proxy (its `trust proxy` or `trustProxy` accepts all addresses). So a client can send any address in ' +
    'X-Forwarded-For and avoid all limits that count addresses, unless your proxies replace this header. Set `trust proxy` or ' +
    '`trustProxy` to the addresses or the number of your proxies.',
  port:
    'The address of a request has a port or brackets, because some proxies write such addresses into X-Forwarded-For. Rules ' +
    'without a subject function count the address without them, so nothing needs to be done.',
} as const;

/** Logs warnings about the app's proxy settings, and about addresses that proxies report, each kind once. */
export class ProxyWarnings {
  private readonly logger = new Logger('RateLimit');
  private readonly logged = new Set<keyof typeof FIX>();
  private settingChecked = false;

  inspect(request: ProxiedRequest): void {
    const { ip } = request;
    if (typeof ip === 'string' && ip.includes(':') && hasPort(ip)) this.warn('port');
    if (request.headers?.['x-forwarded-for'] === undefined) return;
    // The setting is the same for all requests, so the first one with X-Forwarded-For is enough.
    if (this.settingChecked) return;
    this.settingChecked = true;
    if (trustsNobody(request)) this.warn('untrusted');
    else if (trustsEverybody(request)) this.warn('permissive');
  }

  private warn(kind: keyof typeof FIX): void {
    if (this.logged.has(kind)) return;
    this.logged.add(kind);
    this.logger.warn(`${FIX[kind]} Logged once.`);
  }
}

function trustsNobody({ ips, app, server }: ProxiedRequest): boolean {
  if (!app?.get) return server !== undefined && ips === undefined;
  const setting = app.get('trust proxy');
  return setting === undefined || setting === false;
}

/** 100 addresses that no host has (reserved for documentation). An app that trusts a number of proxies trusts fewer than 100. */
const FORGED_CHAIN = Array.from({ length: 100 }, (_, i) => `192.0.2.${i + 1}`);

/**
 * Returns true if Express or Fastify believes X-Forwarded-For from any proxy.
 *
 * The setting itself cannot be read: Fastify hides it, and in Express it may be a function. So this function copies the request, pretends
 * that the copy came through 100 unknown proxies, and lets the platform compute its client address. If the platform believes the first
 * address of the chain, it trusts every proxy.
 */
function trustsEverybody(request: object): boolean {
  const forged = {
    headers: { 'x-forwarded-for': FORGED_CHAIN.join(', ') },
    socket: { remoteAddress: '198.51.100.1' },
    connection: { remoteAddress: '198.51.100.1' },
  };
  const values = { ...forged, raw: forged };
  const own = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
  try {
    return (Object.create(request, own) as ProxiedRequest).ip === FORGED_CHAIN[0];
  } catch {
    // The platform, or the app's own trust function, cannot handle the copy. Then nothing is known, and nothing is logged.
    return false;
  }
}

export interface RequestLike extends ProxiedRequest {
  readonly socket?: { readonly remoteAddress?: string };
  readonly res?: ResponseLike;
}

/** Parts of a response that the guard uses. Express has `setHeader`, Fastify has `header`. */
interface ResponseLike {
  setHeader?(name: string, value: string): unknown;
  getHeader?(name: string): unknown;
  writeHead?: (...args: never[]) => unknown;
  header?(name: string, value: string): unknown;
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  /** Node's response, on Fastify; undefined on Express. */
  readonly raw?: NodeResponse;
}

interface NodeResponse {
  readonly statusCode?: number;
  once?(event: 'finish', listener: () => void): unknown;
}

/** Request and response of an execution context, if it has them. */
export interface Exchange {
  readonly request: RequestLike | undefined;
  readonly response: ResponseLike | undefined;
}

/**
 * Makes an adapter for contexts that belong to an HTTP request.
 *
 * @param exchangeOf returns the request and the response of a context
 * @param callOf becomes the method `call` of the adapter
 */
export function exchangeAdapter(
  exchangeOf: (context: ExecutionContext) => Exchange,
  callOf: (context: ExecutionContext) => object | undefined,
): RateLimitContextAdapter {
  return {
    address(context) {
      const { request } = exchangeOf(context);
      // Express and Fastify compute `ip` at each access, so it is read once.
      const ip = request?.ip;
      return typeof ip === 'string' && ip !== '' ? ip : request?.socket?.remoteAddress;
    },
    setHeaders(context, headers) {
      const { response } = exchangeOf(context);
      if (response === undefined || response.headersSent === true || response.sent === true) return;
      for (const name in headers) {
        const value = headers[name] as string;
        if (name === 'Content-Type' && response.writeHead) sendJsonAs(response, value);
        else if (response.setHeader) response.setHeader(name, value);
        else response.header?.(name, value);
      }
    },
    refusal: (_context, { decision, status, body }) => new RateLimitException(decision, status, body),
    call: callOf,
  };
}

export type HttpServer = Partial<Pick<EventEmitter, 'on'>>;

// See DECISIONS.md: addresses-are-read-early
/**
 * Makes Node remember the address of each connection, by reading it when the connection begins. Then a request still counts under the
 * address of its client if that client hangs up before the guard runs.
 */
export function keepAddresses(server: HttpServer | undefined): void {
  const read = (socket: { readonly remoteAddress?: string }): void => void socket.remoteAddress;
  server?.on?.('connection', read);
  server?.on?.('secureConnection', read);
}

/** Adapter of HTTP routes on Express and Fastify. */
export const httpAdapter: RateLimitContextAdapter = {
  ...exchangeAdapter(
    (context) => ({
      request: context.getArgByIndex<RequestLike | undefined>(0),
      response: context.getArgByIndex<ResponseLike | undefined>(1),
    }),
    (context) => context.getArgByIndex<object | undefined>(0),
  ),
  // The status that was sent decides if the request has failed. See DECISIONS.md: outcome-is-the-status-at-finish
  onSent(context, sent) {
    const response = context.getArgByIndex<(ResponseLike & NodeResponse) | undefined>(1);
    const node = response?.raw ?? response;
    node?.once?.('finish', () => sent((node.statusCode ?? 200) >= 400));
  },
};
