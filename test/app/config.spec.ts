import { Test } from '@nestjs/testing';
import { ConfigService } from '@nestjs/config';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkConfig, VARIABLES } from '../../src/platform/config/config';
import { ConfigError } from '../../src/platform/config/config-error';
import { type AppConfigService, configModule, loadConfig } from '../../src/platform/config/load-config';
import { makeTempFolder, removeFolder } from './support/temp-folder';

describe('checkConfig', () => {
  it('needs no variable at all', () => {
    expect(checkConfig({})).toEqual({
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
    expect(checkConfig(Object.fromEntries(VARIABLES.map((name) => [name, ''])))).toEqual(checkConfig({}));
  });

  it('reads every variable', () => {
    const config = checkConfig({
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
    expect(checkConfig({ REDIS_CLUSTER }).redisCluster).toEqual([
      'redis://:pw@10.0.0.1:7001',
      'rediss://10.0.0.2:7002',
    ]);
    expect(() => checkConfig({ REDIS_CLUSTER, REDIS_URL: 'redis://10.0.0.1:6379' })).toThrow(ConfigError);
    for (const wrong of ['10.0.0.1:7001', 'redis://h:1,', 'http://h:1']) {
      expect(() => checkConfig({ REDIS_CLUSTER: wrong })).toThrow(ConfigError);
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
    expect(() => checkConfig({ [name]: value })).toThrow(ConfigError);
    expect(() => checkConfig({ [name]: value })).toThrow(new RegExp(`^${name} is .+\\. Expected .+\\.$`));
  });

  it('shows which value of a list is wrong', () => {
    expect(() => checkConfig({ REDIS_CLUSTER: 'redis://h:1,http://h:2' })).toThrow(
      /^REDIS_CLUSTER is a list whose value 2 of 2 is a URL that starts with http:\. Expected /,
    );
  });

  it('shows no secret in a refusal', () => {
    for (const env of [
      { REDIS_URL: 'http://:hunter2@x' },
      { REDIS_CLUSTER: 'redis://h:1,hunter2' },
      { ADMIN_TOKEN: 'hunter2' },
      { GUEST_SECRET: 'hunter2' },
      { DATABASE_URL: 'hunter2' },
    ]) {
      expect(() => checkConfig(env)).toThrow(/^(?!.*hunter2)/s);
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

describe('loadConfig', () => {
  let folder: string;
  beforeEach(async () => (folder = await makeTempFolder()));
  afterEach(async () => {
    delete process.env.GUESTS_PER_MINUTE;
    await removeFolder(folder);
  });

  it('reads a file, prefers the environment, and leaves the environment as it is', async () => {
    const file = join(folder, '.env');
    await writeFile(file, `# a comment\nGUESTS_PER_MINUTE=7\nADMIN_TOKEN="${'t'.repeat(16)}"\nPORT=\n`);
    expect(await loadConfig(file)).toMatchObject({ guestsPerMinute: 7, adminToken: 't'.repeat(16), port: 3_000 });
    process.env.GUESTS_PER_MINUTE = '8';
    const before = { ...process.env };
    expect(await loadConfig(file)).toMatchObject({ guestsPerMinute: 8 });
    expect(process.env).toEqual(before);
    expect(await loadConfig(join(folder, 'missing'))).toMatchObject({ guestsPerMinute: 8, adminToken: undefined });
  });

  it('names the variable of a file that is not allowed, and a file that cannot be read', async () => {
    const file = join(folder, '.env');
    await writeFile(file, 'PORT=http\n');
    await expect(loadConfig(file)).rejects.toThrow(
      'PORT is "http". Expected an integer from 0 to 65535 in decimal digits.',
    );
    await mkdir(join(folder, 'sub'));
    await expect(loadConfig(join(folder, 'sub'))).rejects.toThrow(/sub is a file that cannot be read .*EISDIR/);
  });

  it('providers get the checked configuration from ConfigService, and nothing that was not checked', async () => {
    const app = checkConfig({ PAYOUT_LEASE_MS: '1234' });
    const module = await Test.createTestingModule({ imports: [configModule(app)] }).compile();
    const config = module.get<AppConfigService>(ConfigService);
    expect(config.get('app', { infer: true })).toBe(app);
    expect((config as unknown as ConfigService).get('PATH')).toBeUndefined();
    await module.close();
  });
});

it('only src/platform/config reads the environment', () => {
  const src = join(__dirname, '..', '..', 'src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const reading = files.filter((file) =>
    /\bprocess\s*(\?\.|\.)\s*env\b|loadEnvFile/.test(readFileSync(join(src, file), 'utf8')),
  );
  expect(reading.filter((file) => !file.startsWith(join('platform', 'config')))).toEqual([]);
  expect(reading).not.toEqual([]);
});
