import { Logger } from '@nestjs/common';
import { hasPort } from './client-address';

/** Fields of a request that show the app's proxy settings. */
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
    'A request has X-Forwarded-For, but the app trusts no proxy, so all clients behind a proxy share its address. If there is ' +
    'a proxy, set `trust proxy` (Express) or `trustProxy` (Fastify) to its address or to the number of proxies.',
  permissive:
    'The app trusts every proxy (`trust proxy` or `trustProxy` is true), so a client can choose its address by ' +
    'X-Forwarded-For and bypass every limit by address. Set it to the addresses or the number of your proxies.',
  port: 'A proxy writes addresses with ports into X-Forwarded-For. Clients are counted by the address alone.',
} as const;

/** Logs warnings about wrong proxy settings, each once. */
export class ProxyWarnings {
  private readonly logger = new Logger('RateLimit');
  private readonly logged = new Set<keyof typeof FIX>();
  private settingChecked = false;

  /** Checks a request that is limited by its address. */
  inspect(request: ProxiedRequest): void {
    if (this.logged.size === Object.keys(FIX).length) return;
    if (typeof request.ip === 'string' && request.ip.includes(':') && hasPort(request.ip)) this.warn('port');
    if (request.headers?.['x-forwarded-for'] === undefined) return;
    // The app has one setting, so the first such request shows it.
    if (this.settingChecked) return;
    this.settingChecked = true;
    if (trustsNobody(request)) this.warn('untrusted');
    else if (trustsEverybody(request)) this.warn('permissive');
  }

  private warn(kind: keyof typeof FIX): void {
    if (this.logged.has(kind)) return;
    this.logged.add(kind);
    this.logger.warn(`${FIX[kind]} Logged once; silence it with proxyWarnings: false.`);
  }
}

/** Returns true if the platform is set to trust no proxy. */
function trustsNobody({ ips, app, server }: ProxiedRequest): boolean {
  if (!app?.get) return server !== undefined && ips === undefined;
  const setting = app.get('trust proxy');
  return setting === undefined || setting === false;
}

/** Addresses reserved for documentation: more than any chain of proxies. */
const FORGED_CHAIN = Array.from({ length: 100 }, (_, i) => `192.0.2.${i + 1}`);

/**
 * Returns true if the platform takes the first address of any X-Forwarded-For. Fastify does not show its setting and that of
 * Express may be a function, so the platform evaluates a copy of the request with a chain of 100 unknown proxies.
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
    // The platform or its trust function cannot handle the copy.
    return false;
  }
}
