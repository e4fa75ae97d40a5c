import { Checks } from '../../../internal/src/without-nest';
import type { Address } from './admin';
import { FaultProxy } from './fault-proxy';
import { checkAddress } from './start-redis';

const DEFAULT_PORT = 6_379;

/**
 * Starts a proxy on 127.0.0.1 in front of a Redis server. Connect to its `url`, or to its `host` and `port`, instead of the server.
 * At first, the proxy passes everything on.
 *
 * @param target the server, or its URL: `redis://host:port`, default port 6379. User, password and database of the URL are not
 * used. TLS is not possible, because the proxy reads the requests
 * @throws InvalidOptionError for an invalid target
 */
export async function startFaultProxy(target: Address | string): Promise<FaultProxy> {
  return FaultProxy.start(addressOf(new Checks('startFaultProxy'), target));
}

function addressOf(checks: Checks, target: Address | string): Address {
  if (typeof target !== 'string') {
    checkAddress(checks, 'target', target);
    return target;
  }
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url?.protocol !== 'redis:' || url.hostname === '') {
    const expected = 'a URL redis://host:port, or an object with host (text) and port (integer)';
    return checks.refuse('target', withoutSecrets(target), expected);
  }
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || DEFAULT_PORT) };
}

/** Returns the part of an invalid URL that an error may show: a URL may hold a password. */
function withoutSecrets(url: string): string {
  const scheme = /^[\w+.-]*:\/\//.exec(url)?.[0];
  return scheme ?? (/[@?]/.test(url) ? '***' : url);
}
