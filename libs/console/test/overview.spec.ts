import { Redis, type Cluster } from 'ioredis';
import { defineScript, type ScriptRegistry } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import type { Section } from '../src/console.types';
import { overviewSection } from '../src/sections/overview';
import { sentencesOfServer, serverOf, type Node } from '../src/sections/servers';
import { allRows, factsOf, figuresOf, sectionOf } from './section-support';

const scripts = ['one', 'two'].map((name) =>
  defineScript({
    name: `overview.${name}`,
    source: `return KEYS[1] .. '${name}'`,
    keys: ['key'],
    args: {},
    reply: (text: string) => text,
  }),
);

describe.each([
  ['standalone', standaloneClient, 1],
  ['Cluster', clusterClient, 3],
] as const)('the overview on %s', (_, connect, masters) => {
  let client: Redis | Cluster;
  let registry: ScriptRegistry;
  let section: Section;

  beforeEach(async () => {
    client = connect();
    registry = await openRegistry(client, { preload: 'required' }, scripts);
    section = sectionOf(overviewSection, { ScriptRegistry: registry });
  });
  afterEach(() => {
    registry.close();
    client.disconnect();
  });

  it('shows each server, and that all is well', async () => {
    const summary = await figuresOf(section);
    expect(summary).toMatchObject({ masters, scripts: 2, problems: 0 });
    expect((summary.codes as string[])[0]).toBe('registry-well');
    const rows = await allRows(section, ['overview', 'servers']);
    expect(rows.length).toBe(summary.servers);
    expect(rows[0]).toMatchObject({ role: 'master', state: 'connected', maxMemory: null });
    const id = String(rows[0]?.server);
    const story = await factsOf(section, ['overview', 'servers', id]);
    expect(story).toMatchObject({ role: 'master', maxMemoryPolicy: 'noeviction', actions: [] });
    expect(story.version).toMatch(/^(Valkey )?\d+\.\d+/);
    expect(story.clockDifferenceMs).toBeLessThan(1_000);
    expect(await section.find(id)).toMatchObject([{ address: ['overview', 'servers', id], kind: 'server' }]);
    expect(await section.show(['overview', 'servers', 'unknown:1'])).toBeUndefined();
    expect(await section.find('unknown:1')).toEqual([]);
    await expect(section.list(['overview', 'others'], { limit: 1 })).rejects.toThrow('nothing at "overview/others"');
    await expect(section.preview('burn', { address: ['overview', 'servers', id] }, {})).rejects.toThrow('Known: none');
  });

  it('shows each script and this process', async () => {
    const rows = await allRows(section, ['overview', 'scripts']);
    const all = (await allRows(section, ['overview', 'servers'])).length;
    expect(rows).toEqual([
      { script: 'overview.one', bodies: 2, servers: all, missingOn: null },
      { script: 'overview.two', bodies: 2, servers: all, missingOn: null },
    ]);
    expect(await allRows(section, ['overview', 'processes'])).toMatchObject([
      { process: expect.stringMatching(new RegExp(`:${process.pid}$`)) as string, current: true },
    ]);
  });
});

describe('a server that is not well', () => {
  let server: RedisServer;
  beforeAll(async () => (server = await startRedis()));
  afterAll(() => server.stop());

  it('lacks scripts after a flush, and is named', async () => {
    const client = new Redis(server.port, server.host);
    const registry = await openRegistry(client, { preload: 'required' }, scripts);
    const section = sectionOf(overviewSection, { ScriptRegistry: registry });
    try {
      await client.script('FLUSH');
      const [first] = await allRows(section, ['overview', 'scripts']);
      expect(first).toMatchObject({ servers: 0, missingOn: expect.stringContaining(`:${server.port}`) as string });
      expect(await figuresOf(section)).toMatchObject({
        ...{ problems: 1, codes: expect.arrayContaining(['registry-unhealthy']) as string[] },
      });
    } finally {
      registry.close();
      client.disconnect();
    }
  });

  it('evicts keys, has almost no memory left, or no append-only file', async () => {
    const client = new Redis(server.port, server.host);
    const registry = await openRegistry(client);
    const section = sectionOf(overviewSection, { ScriptRegistry: registry });
    const codes = async () => (await figuresOf(section)).codes;
    try {
      expect(await codes()).toEqual(['registry-well', 'server-no-aof']);
      await client.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
      expect(await codes()).toEqual(['server-evicts', 'server-no-aof']);
      await client.config('SET', 'maxmemory', '900kb', 'maxmemory-policy', 'noeviction', 'appendonly', 'yes');
      expect(await codes()).toEqual(['server-memory-full']);
    } finally {
      await client.config('SET', 'maxmemory', '0', 'appendonly', 'no');
      registry.close();
      client.disconnect();
    }
  });

  it('has another time, does not reply, or is not connected', async () => {
    const node = (more: Partial<Node>): Node => ({
      ...{ id: 'a:1', role: 'replica', ready: true, connect: () => undefined, run: () => undefined },
      send: () => new Promise(() => undefined),
      sendMeasured: () => Promise.reject(new Error('not used')),
      ...more,
    });
    const late = await serverOf(node({}));
    expect(late).toMatchObject({ clockMs: undefined });
    expect(sentencesOfServer(late)).toEqual([]);
    const info = Buffer.from('# Replication\r\nmaster_link_status:down\r\nrdb_last_bgsave_status:err\r\n');
    const send = (name: string) => Promise.resolve(name === 'INFO' ? info : [Buffer.from('1'), Buffer.from('0')]);
    const codes = sentencesOfServer(await serverOf(node({ send }))).map(({ code }) => code);
    expect(codes).toEqual(['server-cannot-save', 'server-replica-behind', 'server-clock-differs']);
    const away = await serverOf(node({ ready: false }));
    expect(sentencesOfServer(away)).toMatchObject([{ code: 'server-not-connected', level: 'error' }]);
  });
});
