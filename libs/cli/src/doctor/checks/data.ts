import type { Info, Keyspace, Outcome, ServerFacts } from '../facts';
import { type ServerFinding, ok } from '../finding';
import { counted } from './server';

const MONEY = 'Do not use this Redis for the libs once, read-reward, red-packet, delayed-task and stream-consumer.';

/** Checks the eviction policy (`maxmemory-policy`), and how full the memory is. */
export function eviction(info: Info): ServerFinding[] {
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  const limit = Number(info.get('maxmemory') ?? 0);
  const evicted = Number(info.get('evicted_keys') ?? 0);
  const used = Number(info.get('used_memory') ?? 0);
  const memory = limit === 0 ? 'maxmemory is not set' : `${share(used, limit)} of ${bytes(limit)} are used`;
  if (policy === 'noeviction')
    return [ok('eviction', `maxmemory-policy is noeviction, ${memory}`), ...fullness(used, limit)];
  return [
    {
      check: 'eviction',
      // Without `maxmemory`, Redis evicts no keys.
      level: limit === 0 && evicted === 0 ? 'warning' : 'error',
      found: `maxmemory-policy is ${policy}, ${memory}, ${counted(evicted, 'key')} evicted since the start.`,
      why: 'luanest has no keys that may be lost. Each evicted key is a lost task or message, an id that may run twice, or a limit that counts from 0.',
      remedy:
        'Run CONFIG SET maxmemory-policy noeviction, and set the same in redis.conf or the parameter group. Give caches a Redis of their own.',
    },
  ];
}

function fullness(used: number, limit: number): ServerFinding[] {
  if (limit === 0 || used < limit * 0.85) return [];
  const full = used >= limit;
  return [
    {
      check: 'memory',
      level: full ? 'error' : 'warning',
      found: `${share(used, limit)} of the memory is used: ${bytes(used)} of ${bytes(limit)}.`,
      why: 'A full Redis refuses scripts that may need memory (SCRIPT_REFUSED, OOM). Releases and acknowledgements still run.',
      remedy:
        'Raise maxmemory, or find what grows: redis-cli --bigkeys. docs/production.md has the sizes of what luanest stores.',
    },
  ];
}

/** Checks persistence: how much data would be lost if Redis crashed. */
export function persistence(info: Info, config: Info | undefined): ServerFinding[] {
  const failed = failedWrites(info);
  if (failed.length > 0) return failed;
  const aof = info.get('aof_enabled') === '1';
  const fsync = config?.get('appendfsync');
  if (aof && fsync !== 'no') {
    const loss =
      fsync === 'always'
        ? 'a crash loses nothing that was confirmed'
        : 'a crash loses up to two seconds of confirmed writes';
    return [
      ok('persistence', `appendonly is on, appendfsync is ${fsync ?? 'not readable (everysec by default)'}: ${loss}`),
    ];
  }
  const save = config?.get('save');
  const snapshots = save === undefined ? Number(info.get('rdb_saves') ?? 0) > 0 : save !== '';
  const settings = aof
    ? 'appendfsync is no'
    : snapshots
      ? 'appendonly is off, snapshots are on'
      : 'appendonly is off, and no snapshots are saved';
  const loss = aof
    ? 'all writes that the operating system has not written to the disk yet'
    : snapshots
      ? 'everything since the last snapshot'
      : 'everything';
  return [
    {
      check: 'persistence',
      level: 'warning',
      found: `${settings[0]?.toUpperCase()}${settings.slice(1)}.`,
      why: `A crash of Redis loses ${loss}. That is acceptable only for rate-limit${snapshots ? ', lock and scheduled-lock' : ''}. ${MONEY}`,
      remedy:
        'Run CONFIG SET appendonly yes. If you handle money, also set appendfsync always. For a hosted service see docs/managed-redis.md.',
    },
  ];
}

function failedWrites(info: Info): ServerFinding[] {
  const what = [
    info.get('rdb_last_bgsave_status') === 'err' && 'The last snapshot failed',
    info.get('aof_last_write_status') === 'err' && 'The last write to the append-only file failed',
    info.get('aof_last_bgrewrite_status') === 'err' && 'The last rewrite of the append-only file failed',
  ].filter((text) => text !== false);
  return what.map((text) => ({
    check: 'persistence',
    level: 'error',
    found: `${text}.`,
    why: 'Redis refuses writes (MISCONF) while it cannot save.',
    remedy: 'Look into the log of Redis. Mostly the disk is full, or Redis may not write to its folder.',
  }));
}

/** Reports the number of keys of each lib of luanest, such as `lock`. */
export function keyspace({ keyspace: outcome }: ServerFacts, prefix: string): ServerFinding {
  if ('error' in outcome) return ok('keyspace', `not readable: ${outcome.error}`);
  const { scanned, total, libs } = outcome.value;
  const counts = [...libs].sort(([, a], [, b]) => b - a).map(([lib, keys]) => `${lib} ${keys}`);
  const of = scanned < total ? `of the first ${scanned} of ${total} keys` : `of ${counted(total, 'key')}`;
  return ok('keyspace', counts.length === 0 ? `no key begins with ${prefix}: (${of})` : `${counts.join(', ')} (${of})`);
}

export function libsInUse(outcome: Outcome<Keyspace>): ReadonlySet<string> {
  return new Set('value' in outcome ? outcome.value.libs.keys() : []);
}

function share(used: number, limit: number): string {
  return `${Math.round((used / limit) * 100)} %`;
}

function bytes(n: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  for (; n >= 1_024 && at < units.length - 1; at += 1) n /= 1_024;
  return `${Number(n.toPrecision(3))} ${units[at]}`;
}
