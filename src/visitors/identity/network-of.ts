import { isIPv6 } from 'node:net';

/** Groups of an IPv6 address that one client mostly has as a whole: a network of 64 bits. */
const GROUPS = 4;

/**
 * Returns the text by which a client is counted: an IPv4 address as it is, of an IPv6 address its network. An IPv4 address that is
 * mapped into IPv6 is returned as IPv4. Text that is not an address is returned unchanged; an empty one as `unknown`.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address === '' ? 'unknown' : address;
  // A URL has the shortest form of the address, in which at most one run of zeros is left out.
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, GROUPS).join(':')}::/${16 * GROUPS}`;
}
