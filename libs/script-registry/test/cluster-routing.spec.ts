import { randomUUID } from 'node:crypto';
import { Cluster, Redis } from 'ioredis';
import Redis5 from 'ioredis5';
import calculateSlot from 'cluster-key-slot';
import { ScriptRefusedError } from 'luanest/script-registry';
import { startCluster, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { connectIoredis } from '../src/connection/ioredis-connection';
import type { RedisConnection } from '../src/connection/port';
import { eventually } from '../../../test/support/wait';
import { append, openRegistry, quiet } from './support';

const clients = { 'ioredis 6': Cluster, 'ioredis 5': Redis5.Cluster as unknown as typeof Cluster };
const cases = Object.entries(clients).flatMap(([version, Client]) =>
  [true, false].map((resends) => ({ version, Client, resends })),
);

/** The text that servers add to an error that a script raised. */
const RAISED = expect.stringMatching(/ script: (?:[0-9a-f]{40}, )?on @user_script:4\.$/) as string;

/** Counts its runs, then raises the error that it is given. */
const COUNTED = `#!lua
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 600000)
if ARGV[1] then error({ err = ARGV[1] }) end
return redis.call('GET', KEYS[1])`;

describe('calls that a Cluster client routes', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: 0 });
    for (const node of cluster.nodes) {
      await onNode(node, (admin) =>
        admin.call('ACL', 'SETUSER', 'limited', 'on', '>pw', '~mine:*', '~{*', '+@all', '&*'),
      );
    }
  });
  afterAll(() => cluster.stop());

  async function onNode<T>(node: RedisServer, work: (admin: Redis) => Promise<T>): Promise<T> {
    const admin = quiet(new Redis(node.port));
    try {
      return await work(admin);
    } finally {
      admin.disconnect();
    }
  }

  const runsOf = async (key: string, node?: RedisServer): Promise<string | null> =>
    onNode(node ?? (await cluster.masterOf(key)), (admin) => admin.get(key));

  describe.each(cases)('$version, resending $resends', ({ version, Client, resends }) => {
    let client: Cluster;
    let connection: RedisConnection;
    const tag = (name: string): string => `{${name}-${version}-${resends}}`;

    beforeEach(async () => {
      client = quiet(
        new Client(cluster.startupNodes, {
          slotsRefreshTimeout: 5_000,
          retryDelayOnTryAgain: 5,
          retryDelayOnFailover: 20,
          maxRedirections: 4,
          redisOptions: { autoResendUnfulfilledCommands: resends, username: 'limited', password: 'pw' },
        }),
      );
      connection = connectIoredis(client);
      await eventually(() => expect(client.status).toBe('ready'));
    });
    afterEach(() => {
      connection.close();
      client.disconnect();
    });

    const route = (keys: string[], ...args: string[]): Promise<unknown> =>
      connection.sendRouted('EVAL', [COUNTED, String(keys.length), ...keys, ...args]);

    /** Makes the client send calls of this key to the wrong node first, which answers MOVED. */
    async function mislead(key: string): Promise<void> {
      const owner = await cluster.masterOf(key);
      const other = cluster.nodes.find((node) => node !== owner) as RedisServer;
      client.slots[calculateSlot(key)] = [`${other.host}:${other.port}`];
    }

    it('end with the refusal or the error of Redis, and the process lives', async () => {
      await expect(route(['theirs'])).rejects.toMatchObject({ kind: 'reply', code: 'NOPERM', mayHaveRun: false });
      await expect(route(['{a}', '{b}'])).rejects.toMatchObject({
        kind: 'reply',
        code: 'CROSSSLOT',
        mayHaveRun: false,
      });
      const key = tag('error');
      await expect(route([key], 'OWN error')).rejects.toMatchObject({
        kind: 'reply',
        code: 'OWN',
        message: RAISED,
      });
      expect(await runsOf(key)).toBe('1');
      await mislead(key);
      await expect(route([key], 'OWN error')).rejects.toMatchObject({
        kind: 'reply',
        code: 'OWN',
        message: RAISED,
      });
      expect(await runsOf(key)).toBe('2');
    });

    it.each(['MOVED 1 127.0.0.1:1', 'ASK 1 127.0.0.1:1', 'TRYAGAIN later', 'CLUSTERDOWN no'])(
      'an error that the script raised is not followed: %s',
      async (error) => {
        const key = tag(error.replaceAll(' ', '-'));
        await expect(route([key], error)).rejects.toMatchObject({ kind: 'reply', message: RAISED, mayHaveRun: false });
        expect(await runsOf(key)).toBe('1');
      },
    );

    it('follow MOVED and ASK, and end with a refusal of the node that they lead to', async () => {
      const key = tag('refused');
      const owner = await cluster.masterOf(key);
      await mislead(key);
      expect(String(await route([key]))).toBe('1');
      await onNode(owner, (admin) => admin.config('SET', 'maxmemory', '1'));
      await mislead(key);
      await expect(route([key])).rejects.toMatchObject({ kind: 'reply', code: 'OOM', mayHaveRun: false });
      await onNode(owner, (admin) => admin.config('SET', 'maxmemory', '0'));

      const asked = tag('asked');
      const from = await cluster.masterOf(asked);
      const to = cluster.nodes.find((node) => node !== from) as RedisServer;
      await cluster.beginMigration(calculateSlot(asked), from, to);
      try {
        expect(String(await route([asked]))).toBe('1');
        await onNode(to, (admin) => admin.config('SET', 'maxmemory', '1'));
        await expect(route([asked])).rejects.toMatchObject({ kind: 'reply', code: 'OOM', mayHaveRun: false });
      } finally {
        await onNode(to, (admin) => admin.config('SET', 'maxmemory', '0'));
        // Two keys, of which one is there: neither node can run it, and neither did.
        await expect(route([asked, `${asked}:2`])).rejects.toMatchObject({ kind: 'not-sent', mayHaveRun: false });
        await cluster.cancelMigration(calculateSlot(asked), from, to);
      }
    });

    it('a call without permission for its key is SCRIPT_REFUSED, next to calls that have it', async () => {
      const registry = await openRegistry(client, { preload: 'required' }, [append]);
      const log = tag('log');
      const run = (key: string): Promise<number> => registry.run(append, { keys: { log: key }, args: { entry: 'x' } });
      const outcomes = await Promise.allSettled(
        ['', '', 'theirs', 'theirs', 'theirs', ''].map((key) => run(key || log)),
      );
      const refused = { reason: expect.any(ScriptRefusedError) };
      expect(outcomes).toMatchObject([{ value: 1 }, { value: 2 }, refused, refused, refused, { value: 3 }]);
      expect(outcomes[2]).toMatchObject({ reason: { redisCode: 'NOPERM' } });
      registry.close();
    });
  });

  it.each(Object.entries(clients))(
    'a listener is called when its slot has moved, and may listen again at once: %s',
    async (_, Client) => {
      const key = `{moves-${randomUUID()}}:channel`;
      const slot = calculateSlot(key);
      const from = await cluster.masterOf(slot);
      const to = (await cluster.masters()).find(({ port }) => port !== from.port) as RedisServer;
      const client = quiet(new Client(cluster.startupNodes, { slotsRefreshTimeout: 5_000 }));
      const registry = await openRegistry(client, { preload: 'required' }, [append]);
      try {
        const seen: string[] = [];
        // A listener may be called without a message if its `listen` rejects.
        const listen = (): Promise<unknown> =>
          registry.listen(key, (message) => void (message !== undefined && seen.push(message)));
        const again: Promise<unknown>[] = [];
        await registry.listen(key, () => {
          seen.push('moved');
          // The client may not know the new master yet. Then the call must reject: nothing is subscribed.
          again.push(listen().catch(() => eventually(listen)));
        });
        await cluster.migrateSlot(slot, from, to);
        await eventually(() => expect(seen).toEqual(['moved']));
        await Promise.all(again);
        await onNode(to, (admin) => admin.spublish(key, 'x'));
        await eventually(() => expect(seen).toEqual(['moved', 'x']));
      } finally {
        registry.close();
        client.disconnect();
      }
    },
  );
});
