import { ConfigError } from './config-error';
import { folder, host, integer, listOf, network, secret, url, type Variable } from './variable';

/** Configuration of the app, from checked environment variables. */
export interface AppConfig {
  /** TCP port; 0 to 65,535, where 0 takes any free port. Default 3000. */
  readonly port: number;
  /** Address to listen on. Default 127.0.0.1. */
  readonly host: string;
  /** Absolute path of the folder of the embedded Redis, the embedded ledger and generated secrets. Default ./data. */
  readonly dataDir: string;
  /** URL of a Redis to use instead of the embedded one; undefined for the embedded one. */
  readonly redisUrl: string | undefined;
  /** URLs of some masters of a Redis Cluster to use instead of a single Redis; undefined for a single Redis. */
  readonly redisCluster: readonly string[] | undefined;
  /** URL of a PostgreSQL to use instead of the embedded ledger; undefined for the embedded one. */
  readonly databaseUrl: string | undefined;
  /** Key that signs guest tokens; undefined: generated once into the data folder. */
  readonly guestSecret: string | undefined;
  /** Bearer token of the admin routes; undefined: generated once into the data folder. */
  readonly adminToken: string | undefined;
  /** New guests that one client address may make in a minute; 1 to 1,000,000. Default 60. */
  readonly guestsPerMinute: number;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed; undefined for none. */
  readonly trustProxy: readonly string[] | undefined;
  /**
   * How long Redis keeps an activity after its end or, if the operator gave no end, after its start, ms; 60,000 to 366 days.
   * Undefined: the red-packet lib's default.
   */
  readonly retentionMs: number | undefined;
  /** Time after which another process may take over a payout of a process that died, ms; 1,000 to 600,000. Default 10,000. */
  readonly payoutLeaseMs: number;
}

const REDIS = ['redis:', 'rediss:'];
const POSTGRES = ['postgres:', 'postgresql:'];
const DAY_MS = 86_400_000;

/** Every environment variable that the app reads, by the name of its value in AppConfig. */
const SCHEMA: { readonly [Key in keyof AppConfig]: Variable<AppConfig[Key]> } = {
  port: integer('PORT', [0, 65_535], 3_000),
  host: host('HOST', '127.0.0.1'),
  dataDir: folder('DATA_DIR', 'data'),
  redisUrl: url('REDIS_URL', REDIS, 'redis://127.0.0.1:6379'),
  redisCluster: listOf(url('REDIS_CLUSTER', REDIS, 'redis://h1:6379,redis://h2:6379')),
  databaseUrl: url('DATABASE_URL', POSTGRES, 'postgres://user:password@127.0.0.1:5432/luanest'),
  guestSecret: secret('GUEST_SECRET'),
  adminToken: secret('ADMIN_TOKEN'),
  guestsPerMinute: integer('GUESTS_PER_MINUTE', [1, 1_000_000], 60),
  // "true" and a number of hops are not accepted, because clients could then choose the address that limits count.
  trustProxy: listOf(network('TRUST_PROXY')),
  retentionMs: integer('RETENTION_MS', [60_000, 366 * DAY_MS], undefined),
  payoutLeaseMs: integer('PAYOUT_LEASE_MS', [1_000, 600_000], 10_000),
};

/** Names of all variables; `.env.example` describes the same list. */
export const VARIABLES: readonly string[] = Object.values(SCHEMA).map(({ name }) => name);

/**
 * Checks the whole configuration. A variable that is set but empty counts as not set, because compose files and CI
 * systems pass unset variables that way.
 *
 * @param env variables by name, as the environment has them
 * @throws {ConfigError} at the first variable that is not allowed
 */
export function checkConfig(env: Readonly<Record<string, string | undefined>>): AppConfig {
  const entries = Object.entries(SCHEMA).map(([key, { name, fallback, parse }]) => {
    const text = env[name];
    return [key, text === undefined || text === '' ? fallback : parse(text)];
  });
  const config = Object.freeze(Object.fromEntries(entries) as AppConfig);
  if (config.redisUrl !== undefined && config.redisCluster !== undefined) {
    throw new ConfigError('REDIS_CLUSTER', 'set together with REDIS_URL', 'only one of the two');
  }
  return config;
}
