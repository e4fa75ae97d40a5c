import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { ConfigError } from './config-error';

/** What the app runs on, once every variable has been checked. */
export interface AppConfig {
  /** TCP port; 0 to 65,535, where 0 takes any free port. Default 3000. */
  readonly port: number;
  /** Address to listen on. Default 127.0.0.1. */
  readonly host: string;
  /** Absolute path of the folder for everything that outlives the process. Default ./data. */
  readonly dataDir: string;
  /** A Redis to use instead of the embedded one. */
  readonly redisUrl: string | undefined;
  /** Masters of a Redis Cluster to use in place of a single Redis, as URLs. */
  readonly redisCluster: readonly string[] | undefined;
  /** A PostgreSQL to use instead of the embedded ledger. */
  readonly databaseUrl: string | undefined;
  /** Key of the guest tokens; undefined: generated once into the data folder. */
  readonly guestSecret: string | undefined;
  /** Bearer token of the admin routes; undefined: generated once into the data folder. */
  readonly adminToken: string | undefined;
  /** New guests that one client address may make in a minute; 1 to 1,000,000. Default 60. */
  readonly guestsPerMinute: number;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed; undefined for none. */
  readonly trustProxy: readonly string[] | undefined;
  /** How long Redis keeps an activity; undefined: the red-packet lib's default. */
  readonly retentionMs: number | undefined;
  /** Age at which a claimed, unsettled payout may be taken over by another worker; 1,000 to 600,000. Default 10,000. */
  readonly payoutLeaseMs: number;
}

/** Environment as `process.env` has it. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Every variable that the app reads; `.env.example` documents the same list. */
export const VARIABLES = [
  'PORT',
  'HOST',
  'DATA_DIR',
  'REDIS_URL',
  'REDIS_CLUSTER',
  'DATABASE_URL',
  'GUEST_SECRET',
  'ADMIN_TOKEN',
  'GUESTS_PER_MINUTE',
  'TRUST_PROXY',
  'RETENTION_MS',
  'PAYOUT_LEASE_MS',
] as const;

type Variable = (typeof VARIABLES)[number];

const DAY_MS = 86_400_000;

/**
 * Reads and checks the whole configuration. A variable that is set but empty counts as not set, because compose
 * files and CI systems pass unset variables that way.
 *
 * @throws {ConfigError} at the first variable that makes no sense
 */
export function readConfig(env: Environment): AppConfig {
  return Object.freeze({
    port: integer(env, 'PORT', 0, 65_535) ?? 3_000,
    host: host(env),
    dataDir: resolve(dataDir(env)),
    redisUrl: url(env, 'REDIS_URL', ['redis:', 'rediss:'], 'redis://127.0.0.1:6379'),
    redisCluster: redisCluster(env),
    databaseUrl: url(
      env,
      'DATABASE_URL',
      ['postgres:', 'postgresql:'],
      'postgres://user:password@127.0.0.1:5432/luanest',
    ),
    guestSecret: secret(env, 'GUEST_SECRET'),
    adminToken: secret(env, 'ADMIN_TOKEN'),
    guestsPerMinute: integer(env, 'GUESTS_PER_MINUTE', 1, 1_000_000) ?? 60,
    trustProxy: trustProxy(env),
    retentionMs: integer(env, 'RETENTION_MS', 60_000, 366 * DAY_MS),
    payoutLeaseMs: integer(env, 'PAYOUT_LEASE_MS', 1_000, 600_000) ?? 10_000,
  });
}

function given(env: Environment, name: Variable): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}

function integer(env: Environment, name: Variable, min: number, max: number): number | undefined {
  const value = given(env, name);
  if (value === undefined) return undefined;
  // Number() alone would take ' 80 ', '0x50' and '8e1', none of which anyone writes on purpose.
  const parsed = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (parsed >= min && parsed <= max) return parsed;
  throw new ConfigError(name, JSON.stringify(value), `Write an integer from ${min} to ${max}, or leave it empty.`);
}

function host(env: Environment): string {
  const value = given(env, 'HOST') ?? '127.0.0.1';
  if (/^[A-Za-z0-9.:_-]{1,255}$/.test(value)) return value;
  throw new ConfigError('HOST', JSON.stringify(value), 'Write an address or a host name without scheme and port.');
}

function dataDir(env: Environment): string {
  const value = given(env, 'DATA_DIR') ?? 'data';
  if (value.trim() === value && !value.includes('\0') && !/^[a-z]+:\/\//i.test(value)) return value;
  throw new ConfigError('DATA_DIR', JSON.stringify(value), 'Write the path of a folder on a local disk.');
}

function url(env: Environment, name: Variable, protocols: readonly string[], example: string): string | undefined {
  const value = given(env, name);
  if (value === undefined) return undefined;
  const remedy = `Write something like ${example}, or leave it empty for the embedded one.`;
  if (!URL.canParse(value)) throw new ConfigError(name, 'a value that is no URL', remedy);
  const parsed = new URL(value);
  // The value may hold a password, so only its harmless parts are shown.
  if (!protocols.includes(parsed.protocol))
    throw new ConfigError(name, `a URL that starts with ${parsed.protocol}`, remedy);
  if (parsed.hostname === '') throw new ConfigError(name, 'a URL without a host', remedy);
  return value;
}

function redisCluster(env: Environment): readonly string[] | undefined {
  const urls = given(env, 'REDIS_CLUSTER')?.split(',');
  if (urls !== undefined && given(env, 'REDIS_URL') !== undefined) {
    throw new ConfigError('REDIS_CLUSTER', 'set together with REDIS_URL', 'Leave one of the two empty.');
  }
  // Each is read as REDIS_URL is, under the name that the operator knows.
  return urls?.map(
    (one) =>
      url(
        { REDIS_CLUSTER: one.trim() || 'empty' },
        'REDIS_CLUSTER',
        ['redis:', 'rediss:'],
        'redis://h1:6379,redis://h2:6379',
      ) as string,
  );
}

/** "true" and a number of hops are not taken: clients could then choose the address that they are counted under. */
function trustProxy(env: Environment): readonly string[] | undefined {
  const value = given(env, 'TRUST_PROXY');
  if (value === undefined) return undefined;
  const ranges = value.split(',').map((range) => range.trim());
  if (ranges.every(isRange)) return ranges;
  throw new ConfigError(
    'TRUST_PROXY',
    JSON.stringify(value),
    'Write the addresses of the proxies in front of the app, e.g. 10.0.0.0/8,127.0.0.1, or leave it empty.',
  );
}

/** Returns true if the text is an IP address, or a network such as 10.0.0.0/8. */
function isRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

function secret(env: Environment, name: Variable): string | undefined {
  const value = given(env, name);
  if (value === undefined || /^[\x21-\x7e]{16,512}$/.test(value)) return value;
  throw new ConfigError(
    name,
    `a value of ${value.length} characters`,
    'Write 16 to 512 printable ASCII characters without spaces, or leave it empty to have one generated.',
  );
}
