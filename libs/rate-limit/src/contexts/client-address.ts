import { isIPv4, isIPv6 } from 'node:net';

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

/** Returns true for an address with a port or in brackets. The connections of a client mostly have different ports. */
export function hasPort(address: string): boolean {
  return WITH_PORT.test(address);
}

/**
 * Returns the text that identifies the client of an address. For IPv4, also mapped into IPv6, the text is the IPv4 address.
 * For IPv6 it is the leading bits, because one client often has a whole network of addresses. Other text without a port is
 * returned unchanged.
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
