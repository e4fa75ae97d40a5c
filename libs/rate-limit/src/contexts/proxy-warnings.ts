import { Logger } from '@nestjs/common';
import { hasPort } from './client-address';

/** Properties of a request that show whether the app trusts proxies. */
export interface ProxiedRequest {
  readonly ip?: unknown;
  /** On Fastify undefined without `trustProxy`. */
  readonly ips?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** Express only. */
  readonly app?: { get?(setting: string): unknown };
  /** Fastify only. */
  readonly server?: object;
}

const FIX = {
  untrusted:
    'A request has the header X-Forwarded-For, but the app trusts no proxy. If the app is behind a proxy, rules ' +
    'without a subject function count all its clients as one client with the address of the proxy. Then set `trust proxy` ' +
    '(Express) or `trustProxy` (Fastify) to the addresses or the number of your proxies.',
  permissive:
    'The app trusts every proxy (its `trust proxy` or `trustProxy` accepts all addresses). So a client can choose its address by ' +
    'X-Forwarded-For and bypass all limits per address, unless your proxies replace that header. Set `trust proxy` or ' +
    '`trustProxy` to the addresses or the number of your proxies.',
  port:
    'The address of a request has a port or brackets, as some proxies write it into X-Forwarded-For. Rules without a subject ' +
    'function count clients by the address without port and brackets.',
} as const;

/** Logs warnings about the app's proxy settings and about addresses from proxies, each kind once. */
export class ProxyWarnings {
  private readonly logger = new Logger('RateLimit');
  private readonly logged = new Set<keyof typeof FIX>();
  private settingChecked = false;

  inspect(request: ProxiedRequest): void {
    const { ip } = request;
    if (typeof ip === 'string' && ip.includes(':') && hasPort(ip)) this.warn('port');
    if (request.headers?.['x-forwarded-for'] === undefined) return;
    // All requests have the same setting, so only the first request with X-Forwarded-For is checked.
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

/** Addresses that no host has (reserved for documentation), more than any real chain of proxies has. */
const FORGED_CHAIN = Array.from({ length: 100 }, (_, i) => `192.0.2.${i + 1}`);

/**
 * Returns true if the platform believes X-Forwarded-For from any proxy.
 *
 * The setting cannot be read: Fastify does not show its setting, and the setting of Express may be a function. So this function
 * makes a copy of the request that came through 100 unknown proxies, and lets the platform compute the client's address.
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
    // The platform, or the app's trust function, cannot handle the copy. So nothing is known, and nothing is logged.
    return false;
  }
}
