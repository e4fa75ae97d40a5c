import { Logger } from '@nestjs/common';
import { hasPort } from './client-address';

/** What is read of a request to know how proxies are set up. */
export interface ProxiedRequest {
  readonly ip?: unknown;
  /** Fastify: undefined without `trustProxy`. */
  readonly ips?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** Express. */
  readonly app?: { get?(setting: string): unknown };
  /** Fastify. */
  readonly server?: object;
}

const FIX = {
  untrusted:
    'A request has X-Forwarded-For, but the app trusts no proxy, so all clients behind one share its address. If there is a ' +
    'proxy, set `trust proxy` (Express) or `trustProxy` (Fastify) to its address or to the number of proxies.',
  permissive:
    'The app trusts every proxy (`trust proxy` or `trustProxy` is true), so a client can choose its address by ' +
    'X-Forwarded-For and get past every limit by address. Set it to the addresses or the number of your proxies.',
  port: 'A proxy writes addresses with ports into X-Forwarded-For. Clients are counted by the address alone.',
} as const;

/** Warns of proxies that are set up wrongly, once of each kind. */
export class ProxyWarnings {
  private readonly logger = new Logger('RateLimit');
  private readonly told = new Set<keyof typeof FIX>();
  private looked = false;

  /** Looks at a request that is limited by its address. */
  look(request: ProxiedRequest): void {
    if (this.told.size === Object.keys(FIX).length) return;
    if (typeof request.ip === 'string' && request.ip.includes(':') && hasPort(request.ip)) this.warn('port');
    if (request.headers?.['x-forwarded-for'] === undefined) return;
    // The setting is one for the app, so the first such request shows it.
    if (this.looked) return;
    this.looked = true;
    if (trustsNobody(request)) this.warn('untrusted');
    else if (trustsEverybody(request)) this.warn('permissive');
  }

  private warn(kind: keyof typeof FIX): void {
    if (this.told.has(kind)) return;
    this.told.add(kind);
    this.logger.warn(`${FIX[kind]} Logged once; silence it with proxyWarnings: false.`);
  }
}

/** Returns true if the platform is set to trust no proxy. */
function trustsNobody({ ips, app, server }: ProxiedRequest): boolean {
  if (!app?.get) return server !== undefined && ips === undefined;
  const setting = app.get('trust proxy');
  return setting === undefined || setting === false;
}

/** Addresses for documentation, more than there are proxies in a row. */
const NOBODYS = Array.from({ length: 100 }, (_, i) => `192.0.2.${i + 1}`);

/**
 * Returns true if the platform takes the first address of X-Forwarded-For, whoever sent it. Fastify does not show its
 * setting and Express' may be a function, so both are asked about a request that has passed a hundred strangers.
 */
function trustsEverybody(request: object): boolean {
  const asked = {
    headers: { 'x-forwarded-for': NOBODYS.join(', ') },
    socket: { remoteAddress: '198.51.100.1' },
    connection: { remoteAddress: '198.51.100.1' },
  };
  const values = { ...asked, raw: asked };
  const own = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
  try {
    return (Object.create(request, own) as ProxiedRequest).ip === NOBODYS[0];
  } catch {
    // A platform or a trust function that knows only its own requests.
    return false;
  }
}
