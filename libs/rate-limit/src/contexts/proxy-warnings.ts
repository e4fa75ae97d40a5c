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

  /** Looks at a request that is limited by its address. */
  look(request: ProxiedRequest): void {
    if (this.told.size === Object.keys(FIX).length) return;
    if (typeof request.ip === 'string' && request.ip.includes(':') && hasPort(request.ip)) this.warn('port');
    if (request.headers?.['x-forwarded-for'] === undefined) return;
    const trusted = trustOf(request);
    if (trusted === true) this.warn('permissive');
    else if (trusted === false) this.warn('untrusted');
  }

  private warn(kind: keyof typeof FIX): void {
    if (this.told.has(kind)) return;
    this.told.add(kind);
    this.logger.warn(`${FIX[kind]} Logged once; silence it with proxyWarnings: false.`);
  }
}

/** What the platform is told of proxies: true for all, false for none, undefined for something in between. */
function trustOf({ ips, app, server }: ProxiedRequest): boolean | undefined {
  if (app?.get) {
    const setting = app.get('trust proxy');
    return setting === true ? true : setting === undefined || setting === false ? false : undefined;
  }
  // Fastify does not show what its trustProxy is.
  return server !== undefined && ips === undefined ? false : undefined;
}
