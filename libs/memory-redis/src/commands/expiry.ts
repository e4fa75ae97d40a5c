import type { Keyspace } from '../keyspace';
import { bigInteger, LEAST_INTEGER, MOST_INTEGER } from '../numbers';
import { refuse, shownText, type Reply } from '../reply';
import { at, reads, writes, type Command, type CommandTable, type Context } from './command';

function invalid(name: string): never {
  refuse(`ERR invalid expire time in '${name}' command`);
}

/** Converts an option EX, PX, EXAT or PXAT to the time at which the key expires, ms since 1970. @throws RedisError */
export function expiryOption(db: Keyspace, name: string, unit: string, text: string): number {
  const value = bigInteger(text);
  if (value <= 0n) invalid(name);
  const ms = unit.startsWith('EX') ? value * 1000n : value;
  if (ms > MOST_INTEGER) invalid(name);
  const at = unit.endsWith('AT') ? ms : ms + BigInt(db.nowMs);
  return at > MOST_INTEGER ? invalid(name) : Number(at);
}

interface Conditions {
  nx: boolean;
  xx: boolean;
  gt: boolean;
  lt: boolean;
}

function conditions(args: readonly string[]): Conditions {
  const words = args.slice(2).map((arg) => arg.toLowerCase());
  const unknown = words.findIndex((word) => !['nx', 'xx', 'gt', 'lt'].includes(word));
  if (unknown >= 0) refuse(`ERR Unsupported option ${shownText(at(args, unknown + 2))}`);
  const [nx, xx, gt, lt] = ['nx', 'xx', 'gt', 'lt'].map((word) => words.includes(word)) as [
    boolean,
    boolean,
    boolean,
    boolean,
  ];
  if (nx && (xx || gt || lt)) refuse('ERR NX and XX, GT or LT options at the same time are not compatible');
  if (gt && lt) refuse('ERR GT and LT options at the same time are not compatible');
  return { nx, xx, gt, lt };
}

/**
 * Returns the command EXPIRE, PEXPIRE, EXPIREAT or PEXPIREAT.
 *
 * @param unitMs unit of the argument, ms
 * @param isRelative true if the argument is a time from now on, false if it is a Unix time
 */
function expire(name: string, unitMs: bigint, isRelative: boolean): Command {
  return writes(-3, ({ db }: Context, args) => {
    const key = at(args, 0);
    const { nx, xx, gt, lt } = conditions(args);
    const ms = bigInteger(at(args, 1)) * unitMs;
    if (ms > MOST_INTEGER || ms < LEAST_INTEGER) invalid(name);
    const when = ms + (isRelative ? BigInt(db.nowMs) : 0n);
    if (when > MOST_INTEGER) invalid(name);
    const expiresAtMs = Number(when);
    const current = db.expiryOf(key);
    if (current === undefined) return 0;
    if (nx && current !== null) return 0;
    if (xx && current === null) return 0;
    if (gt && (current === null || expiresAtMs <= current)) return 0;
    if (lt && current !== null && expiresAtMs >= current) return 0;
    if (expiresAtMs <= db.nowMs) db.delete(key);
    else db.expireAt(key, expiresAtMs);
    return 1;
  });
}

/** Returns a command such as TTL, which replies with the time until a key expires. */
function remaining(convert: (expiresAtMs: number, nowMs: number) => number | bigint): Command {
  return reads(2, ({ db }, args): Reply => {
    const expiresAtMs = db.expiryOf(at(args, 0));
    if (expiresAtMs === undefined) return -2;
    return expiresAtMs === null ? -1 : convert(expiresAtMs, db.nowMs);
  });
}

export const expiryCommands: CommandTable = {
  expire: expire('expire', 1000n, true),
  expireat: expire('expireat', 1000n, false),
  expiretime: remaining((at) => Math.floor((at + 500) / 1000)),
  persist: writes(2, ({ db }, [key = '']) => {
    if (typeof db.expiryOf(key) !== 'number') return 0;
    db.expireAt(key, undefined);
    return 1;
  }),
  pexpire: expire('pexpire', 1n, true),
  pexpireat: expire('pexpireat', 1n, false),
  // Times above 2^53 ms are rounded. Those that are rounded to 2^63 must be replied as 2^63 - 1, because integers of Redis end there.
  pexpiretime: remaining((at) => (at >= 2 ** 63 ? MOST_INTEGER : at)),
  pttl: remaining((at, now) => Math.max(0, at - now)),
  ttl: remaining((at, now) => Math.floor((Math.max(0, at - now) + 500) / 1000)),
};
