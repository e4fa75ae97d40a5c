import {
  CLUSTER_VARIABLE,
  STANDALONE_VARIABLE,
  sharedClusterNodes,
  sharedRedisUrl,
  uniquePrefix,
} from './shared-servers';

const saved = { ...process.env };

afterEach(() => {
  process.env = { ...saved };
});

it('hands on what the global setup left in the environment', () => {
  process.env[STANDALONE_VARIABLE] = 'redis://127.0.0.1:1';
  process.env[CLUSTER_VARIABLE] = '[{"host":"127.0.0.1","port":2}]';
  expect(sharedRedisUrl()).toBe('redis://127.0.0.1:1');
  expect(sharedClusterNodes()).toEqual([{ host: '127.0.0.1', port: 2 }]);
});

it('says what is missing when Jest ran without the global setup', () => {
  delete process.env[STANDALONE_VARIABLE];
  delete process.env[CLUSTER_VARIABLE];
  expect(sharedRedisUrl).toThrow(/global-setup/);
  expect(sharedClusterNodes).toThrow(/global-setup/);
});

it('never gives the same prefix twice, nor one that could move a hash tag', () => {
  const prefixes = Array.from({ length: 1_000 }, uniquePrefix);
  expect(new Set(prefixes).size).toBe(1_000);
  for (const prefix of prefixes) expect(prefix).toMatch(/^[a-z0-9-]+$/);
});
