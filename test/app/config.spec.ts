import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, VARIABLES } from '../../src/config/config';
import { ConfigError } from '../../src/config/config-error';

describe('readConfig', () => {
  it('needs no variable at all', () => {
    expect(readConfig({})).toEqual({
      port: 3_000,
      host: '127.0.0.1',
      dataDir: join(process.cwd(), 'data'),
      redisUrl: undefined,
      redisCluster: undefined,
      databaseUrl: undefined,
      guestSecret: undefined,
      adminToken: undefined,
      guestsPerMinute: 60,
      trustProxy: undefined,
      retentionMs: undefined,
      payoutLeaseMs: 10_000,
    });
  });

  it('takes an empty variable as not set', () => {
    expect(readConfig(Object.fromEntries(VARIABLES.map((name) => [name, ''])))).toEqual(readConfig({}));
  });

  it('reads every variable', () => {
    const config = readConfig({
      PORT: '0',
      HOST: '0.0.0.0',
      DATA_DIR: '/srv/rain',
      REDIS_URL: 'redis://:secret@10.0.0.1:6380/2',
      DATABASE_URL: 'postgresql://me@db/rain',
      GUEST_SECRET: 'g'.repeat(16),
      ADMIN_TOKEN: 'a'.repeat(16),
      GUESTS_PER_MINUTE: '5',
      TRUST_PROXY: '10.0.0.0/8, ::1',
      RETENTION_MS: '60000',
      PAYOUT_LEASE_MS: '1000',
    });
    expect(config).toEqual({
      port: 0,
      host: '0.0.0.0',
      dataDir: '/srv/rain',
      redisUrl: 'redis://:secret@10.0.0.1:6380/2',
      redisCluster: undefined,
      databaseUrl: 'postgresql://me@db/rain',
      guestSecret: 'g'.repeat(16),
      adminToken: 'a'.repeat(16),
      guestsPerMinute: 5,
      trustProxy: ['10.0.0.0/8', '::1'],
      retentionMs: 60_000,
      payoutLeaseMs: 1_000,
    });
  });

  it('reads the masters of a Cluster, instead of a Redis', () => {
    const REDIS_CLUSTER = 'redis://:pw@10.0.0.1:7001, rediss://10.0.0.2:7002';
    expect(readConfig({ REDIS_CLUSTER }).redisCluster).toEqual(['redis://:pw@10.0.0.1:7001', 'rediss://10.0.0.2:7002']);
    expect(() => readConfig({ REDIS_CLUSTER, REDIS_URL: 'redis://10.0.0.1:6379' })).toThrow(ConfigError);
    for (const wrong of ['10.0.0.1:7001', 'redis://h:1,', 'http://h:1']) {
      expect(() => readConfig({ REDIS_CLUSTER: wrong })).toThrow(ConfigError);
    }
  });

  it.each([
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '80.5'],
    ['PORT', '0x50'],
    ['PORT', ' 80'],
    ['HOST', 'http://localhost'],
    ['HOST', 'a b'],
    ['DATA_DIR', ' data'],
    ['DATA_DIR', 'file:///data'],
    ['REDIS_URL', 'localhost'],
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_URL', 'http://localhost:6379'],
    ['REDIS_URL', 'redis://'],
    ['DATABASE_URL', 'mysql://localhost/rain'],
    ['DATABASE_URL', 'postgres://'],
    ['GUEST_SECRET', 'short'],
    ['ADMIN_TOKEN', 'with a space in the middle'],
    ['GUESTS_PER_MINUTE', '0'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '1'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['TRUST_PROXY', 'proxy.local'],
    ['RETENTION_MS', '0'],
    ['RETENTION_MS', '1e6'],
    ['PAYOUT_LEASE_MS', '10s'],
    ['PAYOUT_LEASE_MS', '999'],
  ])('refuses %s=%s by name', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError);
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name}: .* is refused\\. Write `));
  });

  it('shows no secret in a refusal', () => {
    for (const env of [{ REDIS_URL: 'http://:hunter2@x' }, { ADMIN_TOKEN: 'hunter2' }, { DATABASE_URL: 'hunter2' }]) {
      expect(() => readConfig(env)).toThrow(/^(?!.*hunter2)/s);
    }
  });
});

it('.env.example names exactly the variables that the app reads, each with a comment', () => {
  const lines = readFileSync(join(__dirname, '..', '..', '.env.example'), 'utf8').split('\n');
  const named = lines.flatMap((line, index) => {
    const name = /^([A-Z_]+)=$/.exec(line)?.[1];
    if (name !== undefined) expect(lines[index - 1]).toMatch(/^# /);
    return name ?? [];
  });
  expect(named).toEqual([...VARIABLES]);
});
