import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { ConfigError } from './config-error';

/** One environment variable of the schema. */
export interface Variable<T> {
  readonly name: string;
  /** Value if the variable is not set. */
  readonly fallback: T;
  /** @throws {ConfigError} for a text that is not allowed */
  readonly parse: (text: string) => NonNullable<T>;
}

/** Integer of decimal digits. */
export function integer<F extends number | undefined>(
  name: string,
  [min, max]: readonly [number, number],
  fallback: F,
): Variable<number | F> {
  const parse = (text: string): number => {
    // Number() alone would accept ' 80 ', '0x50' and '8e1' as well.
    const parsed = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (parsed >= min && parsed <= max) return parsed;
    throw new ConfigError(name, JSON.stringify(text), `an integer from ${min} to ${max} in decimal digits`);
  };
  return { name, fallback, parse };
}

/** Address or host name to listen on. */
export function host(name: string, fallback: string): Variable<string> {
  const parse = (text: string): string => {
    if (/^[A-Za-z0-9.:_-]{1,255}$/.test(text)) return text;
    throw new ConfigError(name, JSON.stringify(text), 'an address or a host name, without scheme and port');
  };
  return { name, fallback, parse };
}

/** Folder, as an absolute path. */
export function folder(name: string, fallback: string): Variable<string> {
  const parse = (text: string): string => {
    if (text.trim() === text && !text.includes('\0') && !/^[a-z]+:\/\//i.test(text)) return resolve(text);
    throw new ConfigError(name, JSON.stringify(text), 'the path of a folder on a local disk, without spaces around it');
  };
  return { name, fallback: resolve(fallback), parse };
}

/** URL with one of these protocols. Errors do not show the value, because it may contain a password. */
export function url(name: string, protocols: readonly string[], example: string): Variable<string | undefined> {
  const allowed = `a URL like ${example}`;
  const parse = (text: string): string => {
    if (!URL.canParse(text)) throw new ConfigError(name, 'a value that is not a URL', allowed);
    const { protocol, hostname } = new URL(text);
    if (!protocols.includes(protocol)) throw new ConfigError(name, `a URL that starts with ${protocol}`, allowed);
    if (hostname === '') throw new ConfigError(name, 'a URL without a host', allowed);
    return text;
  };
  return { name, fallback: undefined, parse };
}

/** List of values with commas between them. Errors have the number of the value. @param one variable that checks each value */
export function listOf(one: Variable<string | undefined>): Variable<readonly string[] | undefined> {
  const { name } = one;
  const parse = (text: string): string[] =>
    text.split(',').map((part, i, { length }) => {
      try {
        return one.parse(part.trim());
      } catch (cause) {
        if (length === 1 || !(cause instanceof ConfigError)) throw cause;
        const seen = `a list whose value ${i + 1} of ${length} is ${cause.seen}`;
        throw new ConfigError(name, seen, cause.allowed, { cause });
      }
    });
  return { name, fallback: undefined, parse };
}

/** IP address, or a network such as 10.0.0.0/8. */
export function network(name: string): Variable<string | undefined> {
  const parse = (text: string): string => {
    const [address = '', bits, ...rest] = text.split('/');
    const longest = isIP(address) === 4 ? 32 : 128;
    const isPrefix = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest);
    if (isIP(address) !== 0 && rest.length === 0 && isPrefix) return text;
    throw new ConfigError(name, JSON.stringify(text), 'addresses and networks of proxies, like 10.0.0.0/8,127.0.0.1');
  };
  return { name, fallback: undefined, parse };
}

/** Secret. Errors do not show the value. */
export function secret(name: string): Variable<string | undefined> {
  const parse = (text: string): string => {
    if (/^[\x21-\x7e]{16,512}$/.test(text)) return text;
    const seen = `a value of ${text.length} characters`;
    throw new ConfigError(name, seen, '16 to 512 printable ASCII characters without spaces');
  };
  return { name, fallback: undefined, parse };
}
