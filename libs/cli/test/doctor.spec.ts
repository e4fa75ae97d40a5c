import { startCluster, startRedis } from 'luanest/testing/servers';
import { withAdmin } from '../../testing/src/servers/admin';
import { tableOf, words } from '../../../test/support/markdown';
import { sharedClusterNodes, sharedRedisUrl } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { clock, latency } from '../src/doctor/checks/server';
import type { ServerFacts } from '../src/doctor/facts';
import type { Finding } from '../src/doctor/finding';
import { LIB_COMMANDS } from '../src/doctor/permission-probes';
import { luanest, type Run } from './support';

const CLIENTS = ['ioredis', 'redis'] as const;

async function doctor(url: string, ...args: readonly string[]): Promise<{ status: number; findings: Finding[] }> {
  const run = await luanest(['doctor', '--redis', url, '--json', ...args]);
  expect(run.complained).toBe('');
  return { status: run.status, findings: (JSON.parse(run.printed) as { findings: Finding[] }).findings };
}
const errorsOf = (findings: readonly Finding[]): string[] =>
  findings.filter(({ level }) => level === 'error').map(({ check, found }) => `${check}: ${found}`);
const only = (findings: readonly Finding[], check: string): Finding => {
  const found = findings.filter((finding) => finding.check === check);
  expect(found).toHaveLength(1);
  return found[0] as Finding;
};

describe.each(CLIENTS)('with %s', (client) => {
  const by = ['--client', client] as const;

  it('finds no error in a server that is as the guide says', async () => {
    await using redis = await startRedis({
      args: ['--maxmemory', '1gb', '--appendonly', 'yes', '--appendfsync', 'always'],
    });
    await using replica = await startRedis({ replicaOf: redis });
    await withAdmin(redis, (admin) => admin.call('CONFIG', 'SET', 'min-replicas-to-write', '1'));
    await eventually(async () =>
      expect(await withAdmin(redis, (admin) => admin.info('replication'))).toContain('good_slaves:1'),
    );
    await withAdmin(redis, async (admin) => {
      for (const key of ['luanest:lock:{a}:lock', 'luanest:once:{b}', 'luanest:once:{c}', 'others:d'])
        await admin.call('SET', key, '1');
    });
    const { status, findings } = await doctor(redis.url, ...by);
    // The machine that runs the tests may be slow.
    expect(findings.filter(({ level, check }) => level !== 'ok' && check !== 'latency')).toEqual([]);
    expect(findings.map(({ check }) => check).sort()).toEqual(
      ['version', 'eviction', 'persistence', 'replicas', 'lua', 'acl', 'clock', 'latency', 'keyspace'].sort(),
    );
    expect(only(findings, 'persistence').found).toContain('always');
    expect(only(findings, 'keyspace').found).toBe('once 2, lock 1 (of 4 keys)');
    expect(status).toBe(errorsOf(findings).length === 0 ? 0 : 1);
    const { status: onReplica, findings: ofReplica } = await doctor(replica.url, ...by);
    expect(only(ofReplica, 'role')).toMatchObject({ level: 'error', found: expect.stringContaining(`:${redis.port}`) });
    expect(onReplica).toBe(1);
  });

  it('finds eviction, a full memory, no persistence and no replica', async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-lru'] });
    const { status, findings } = await doctor(redis.url, ...by);
    expect(status).toBe(1);
    expect(only(findings, 'eviction')).toMatchObject({ level: 'error', found: expect.stringContaining('allkeys-lru') });
    expect(only(findings, 'persistence')).toMatchObject({
      level: 'warning',
      found: expect.stringContaining('no snapshots'),
    });
    expect(only(findings, 'replicas')).toMatchObject({ level: 'warning' });
    await withAdmin(redis, async (admin) => {
      await admin.call('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await admin.call('CONFIG', 'SET', 'maxmemory', '500kb');
    });
    const full = await doctor(redis.url, ...by);
    expect(only(full.findings, 'memory')).toMatchObject({
      level: 'error',
      found: expect.stringMatching(/ of 5\d\d kB\.$/),
    });
    // Scripts that only ask still run.
    expect(only(full.findings, 'lua').level).toBe('ok');
  });

  it('finds that a server has no scripts', async () => {
    await using redis = await startRedis({ args: ['--rename-command', 'EVALSHA', ''] });
    const { status, findings } = await doctor(redis.url, ...by);
    expect(status).toBe(1);
    expect(only(findings, 'lua')).toMatchObject({ level: 'error', remedy: expect.stringContaining('rename-command') });
  });

  it('finds what a user may not do, and which lib needs it', async () => {
    await using redis = await startRedis();
    const all = [...new Set(Object.values(LIB_COMMANDS).join(' ').split(' '))].map((command) => `+${command}`);
    const connection =
      '+evalsha +eval +script|load +script|exists +ping +info +hello +auth +client|setname +select +wait +ssubscribe +sunsubscribe';
    const urlOf = async (user: string, ...rules: readonly string[]): Promise<string> => {
      await withAdmin(redis, (admin) => admin.call('ACL', 'SETUSER', user, 'on', '>p', ...rules));
      return `redis://${user}:p@${redis.host}:${redis.port}`;
    };
    const documented = ['~luanest:*', '&luanest:*', ...connection.split(' '), ...all];
    const rich = await doctor(await urlOf('rich', ...documented), ...by);
    // It may not read the configuration, which is not an error.
    expect(errorsOf(rich.findings).filter((text) => !text.startsWith('latency'))).toEqual([]);
    expect(only(rich.findings, 'acl')).toMatchObject({ level: 'ok', found: expect.stringContaining('rich') });

    await withAdmin(redis, (admin) => admin.call('SET', 'luanest:lock:{a}:lock', '1'));
    const poor = await doctor(
      await urlOf('poor', ...documented, '+scan', '-spublish', '-setrange', '-zmscore', '-wait'),
      ...by,
    );
    const acl = poor.findings.filter(({ check }) => check === 'acl');
    const about = (text: string): Finding | undefined => acl.find(({ why = '' }) => why.startsWith(text));
    expect(about('The scripts of lock ')).toMatchObject({
      level: 'error',
      found: expect.stringContaining('setrange, spublish'),
    });
    expect(about('The scripts of delayed-task ')).toMatchObject({
      level: 'warning',
      remedy: expect.stringContaining('+spublish +zmscore'),
    });
    expect(about('The option `replicas`')).toMatchObject({
      level: 'warning',
      remedy: expect.stringContaining('+wait'),
    });
    expect(about('The scripts of once ')).toBeUndefined();
    expect(poor.status).toBe(1);

    const others = await doctor(
      await urlOf('others', ...documented, 'resetkeys', '~shop:*', 'resetchannels', '&shop:*'),
      ...by,
    );
    expect(only(others.findings, 'acl')).toMatchObject({
      level: 'error',
      remedy: expect.stringContaining('~luanest:*'),
    });
    const withPrefix = await doctor(`redis://others:p@${redis.host}:${redis.port}`, '--prefix', 'shop', ...by);
    expect(only(withPrefix.findings, 'acl').level).toBe('ok');

    const mute = await doctor(await urlOf('mute', '~*', '&*', '+@all', '-evalsha', '-info'), ...by);
    expect(errorsOf(mute.findings).map((text) => text.split(':')[0])).toEqual(['info', 'lua']);
    expect(await withAdmin(redis, (admin) => admin.call('PING'))).toBe('PONG');
  });

  it('finds that nobody listens, and a wrong password', async () => {
    const redis = await startRedis({ args: ['--requirepass', 'right'] });
    const wrong = await doctor(`redis://default:secret@${redis.host}:${redis.port}`, ...by);
    expect(only(wrong.findings, 'connection')).toMatchObject({
      level: 'error',
      found: expect.stringContaining('WRONGPASS'),
    });
    expect(JSON.stringify(wrong)).not.toContain('secret');
    expect((await doctor(`redis://default:right@${redis.host}:${redis.port}`, ...by)).findings.length).toBeGreaterThan(
      5,
    );
    await redis.stop();
    const gone = await doctor(redis.url, ...by);
    expect(only(gone.findings, 'connection')).toMatchObject({ found: expect.stringContaining('ECONNREFUSED') });
    expect([wrong.status, gone.status]).toEqual([1, 1]);
  });

  it('looks at each master of a Cluster', async () => {
    const [node] = sharedClusterNodes() as [{ host: string; port: number }];
    const { findings } = await doctor(`redis://${node.host}:${node.port}`, '--cluster', ...by);
    expect(only(findings, 'cluster')).toMatchObject({
      level: 'ok',
      found: 'cluster_state is ok, 16384 slots on 3 masters',
    });
    expect(only(findings, 'lua').nodes).toHaveLength(3);
    expect(only(findings, 'acl')).toMatchObject({ level: 'ok' });
    const alone = await doctor(`redis://${node.host}:${node.port}`, ...by);
    expect(alone.findings).toEqual([
      expect.objectContaining({ check: 'cluster', remedy: expect.stringContaining('--cluster') }),
    ]);
    const mistaken = await doctor(sharedRedisUrl(), '--cluster', ...by);
    expect(errorsOf(mistaken.findings)).toEqual(['cluster: The server does not belong to a Cluster.']);
  });
});

it('finds slots that no master has', async () => {
  await using cluster = await startCluster({ masters: 3, replicas: 0 });
  const [first, second] = cluster.nodes as [(typeof cluster.nodes)[0], (typeof cluster.nodes)[0]];
  // Both forget the slot; the third one goes on believing that the first has it.
  const slot = await withAdmin(first, async (admin) => {
    const ranges = (await admin.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
    const [from] = ranges.find(([, , [, port]]) => port === first.port) as [number, number, [string, number]];
    await admin.call('CLUSTER', 'DELSLOTS', String(from));
    return from;
  });
  await withAdmin(second, (admin) => admin.call('CLUSTER', 'DELSLOTS', String(slot)).catch(() => undefined));
  const { status, findings } = await doctor(first.url, '--cluster');
  const texts = errorsOf(findings);
  expect(texts).toContain('cluster: 1 of 16384 hash slots belong to no master.');
  expect(texts).toContain('cluster: The Cluster is down (cluster_state is fail).');
  expect(status).toBe(1);
});

it('says why, and what to do', async () => {
  await using redis = await startRedis({ args: ['--maxmemory', '50mb', '--maxmemory-policy', 'volatile-lru'] });
  const { status, printed }: Run = await luanest(['doctor'], { url: redis.url });
  expect(status).toBe(1);
  const [head, why, remedy] = printed.split('\n');
  expect(head).toMatch(/^error {4}eviction {5}maxmemory-policy is volatile-lru, \d+ % of 50 MB are used/);
  expect(why).toMatch(/^ +why +luanest has no keys that may be lost\./);
  expect(remedy).toMatch(/^ +what to do +Run CONFIG SET maxmemory-policy noeviction/);
  expect(printed).toMatch(/\n\n1 error, \d warnings\.$/);
});

it('knows the commands of the table in the guide, and asks for each', () => {
  const documented = tableOf('docs/production.md', 'lib', 'commands of its scripts').map(([lib, cell]) => [
    lib,
    words(cell).join(' ').replaceAll('+', ''),
  ]);
  expect(Object.entries(LIB_COMMANDS)).toEqual(documented);
});

describe('of what it measured', () => {
  const facts = (measured: Partial<ServerFacts>): ServerFacts => measured as ServerFacts;

  it.each([
    [40, 'ok'],
    [-800, 'warning'],
    [6_000, 'error'],
    [-86_400_000, 'error'],
  ])('a clock that is %d ms ahead is: %s', (aheadMs, level) => {
    const found = clock(facts({ clock: { value: { aheadMs, errorMs: 1 } } }));
    expect(found).toMatchObject({ level, found: expect.stringContaining(aheadMs > 0 ? 'behind' : 'ahead') });
  });

  it.each([
    [0.2, 3, 'ok'],
    [7, 9, 'warning'],
    [0.2, 90, 'warning'],
    [40, 60, 'error'],
  ])('a median of %d ms and a slowest call of %d ms are: %s', (medianMs, slowestMs, level) => {
    const durations = { value: { medianMs, slowestMs } };
    expect(latency(facts({ evalsha: durations, ping: durations }))).toMatchObject([{ level }]);
  });
});

describe('the command line', () => {
  it.each([
    [[], 2, 'Usage: luanest <command>'],
    [['--help'], 0, 'doctor'],
    [['doctor', '--help'], 0, 'Usage: luanest doctor'],
  ])('%j', async (args, status, text) => {
    const run = await luanest(args);
    expect(run.status).toBe(status);
    expect(run.printed).toContain(text);
  });

  it.each([
    [['docter'], 'there is no command docter'],
    [['doctor'], 'set the environment variable REDIS_URL'],
    [['doctor', '--redis', 'user:secret@host'], 'is not a URL'],
    [['doctor', '--redis', 'http://host'], 'Expected redis://'],
    [['doctor', '--redsi', 'x'], "Unknown option '--redsi'"],
    [['doctor', 'redis://127.0.0.1:6379'], 'Give the address of Redis with --redis'],
    [['doctor', '--redis', 'redis://127.0.0.1:1', '--client', 'jedis'], '--client is jedis'],
  ])('%j', async (args, text) => {
    const run = await luanest(args);
    expect(run.status).toBe(2);
    expect(run.complained).toContain(text);
    expect(run.complained).not.toContain('secret');
  });
});
