import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { slotOf } from '../../../internal/src/without-nest';
import type { ChannelEvents, CommandFailure, RedisConnection, RedisNode } from '../../../script-registry/src/internal';
import type { Address } from './admin';
import { startCluster } from './start-cluster';
import { startFaultProxy } from './start-fault-proxy';
import { startRedis } from './start-redis';
import { eventually } from './wait';

/** A connection to check, and a function that ends its client. */
export interface ConnectionUnderTest {
  readonly connection: RedisConnection;
  readonly end: () => Promise<unknown> | void;
}

/** Settings of a client. */
export interface ConnectionSettings {
  readonly username?: string;
  readonly password?: string;
  /** Number of the database. Default 0. */
  readonly database?: number;
}

/** Creates connections through the adapter that is checked, each with a new client. */
export interface ConnectionAdapter {
  /**
   * Returns a connection to one server. The client must reconnect by itself, the first time within 100 ms. @param settings default: none
   */
  standalone(address: Address, settings?: ConnectionSettings): ConnectionUnderTest;
  /** Returns a connection to a Cluster. Leave this method out if the adapter does not support Cluster. */
  cluster?(nodes: readonly Address[]): ConnectionUnderTest;
}

/** Check of one thing that a RedisConnection must do. */
export interface ConnectionCheck {
  /** Title of the test: a sentence about what a connection does. */
  readonly name: string;
  /** Runs the check. Starts and stops the servers that it needs. @throws Error if the check fails */
  readonly run: (adapter: ConnectionAdapter) => Promise<void>;
}

type Use = (connection: RedisConnection, node: RedisNode) => Promise<void>;

async function withConnection({ connection, end }: ConnectionUnderTest, use: Use): Promise<void> {
  const stop = connection.listen(() => undefined);
  try {
    await eventually(() => assert.ok(connection.nodeFor(0)?.ready));
    await use(connection, connection.nodeFor(0) as RedisNode);
  } finally {
    stop();
    connection.close();
    await end();
  }
}

async function failure(answer: Promise<unknown>): Promise<CommandFailure> {
  return answer.then(
    (reply) => assert.fail(`Expected a failure, and the reply was ${String(reply)}`),
    (error: unknown) => error as CommandFailure,
  );
}

const texts = (reply: unknown): unknown =>
  Array.isArray(reply) ? reply.map(texts) : Buffer.isBuffer(reply) ? reply.toString() : reply;

/** Makes a check that runs `use` with a connection to a new server. */
function onServer(name: string, use: Use): ConnectionCheck {
  return {
    name,
    async run(adapter) {
      await using server = await startRedis();
      await withConnection(adapter.standalone(server), use);
    },
  };
}

function onCluster(
  name: string,
  use: (connection: RedisConnection, cluster: Awaited<ReturnType<typeof startCluster>>) => Promise<void>,
): ConnectionCheck {
  return {
    name: `of a Cluster: ${name}`,
    async run(adapter) {
      if (!adapter.cluster) return;
      await using cluster = await startCluster({ masters: 2, replicas: 0 });
      await withConnection(adapter.cluster(cluster.startupNodes), async (connection) => {
        // A client may follow redirections only a moment after its nodes are connected.
        await eventually(() => connection.sendRouted('EVAL', ['return 1', '0']));
        await use(connection, cluster);
      });
    },
  };
}

const COUNT = "return redis.call('INCR', KEYS[1])";

/**
 * Checks of everything that ScriptRegistry needs from a RedisConnection. An adapter for another client must pass all checks:
 * `it.each(connectionContract)('$name', ({ run }) => run(adapter))`.
 */
export const connectionContract: readonly ConnectionCheck[] = [
  onServer('bytes are written and returned unchanged', async (_, node) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_byte, i) => i));
    await node.send('SET', ['k', bytes]);
    assert.deepEqual(await node.send('GET', ['k']), bytes);
    await node.send('SET', ['schön', '字']);
    assert.deepEqual(await node.send('GET', ['schön']), Buffer.from('字'));
    assert.deepEqual(await node.send('ECHO', ['']), Buffer.alloc(0));
  }),
  onServer('integers are numbers, nil is null, arrays are nested, text is Buffers', async (_, node) => {
    const source = "return { 1, 'a', { 2, { 'b' } }, false, redis.status_reply('FINE') }";
    const reply = (await node.send('EVAL', [source, '0'])) as unknown[];
    assert.ok(Buffer.isBuffer(reply[1]) && Buffer.isBuffer(reply[4]));
    assert.deepEqual(texts(reply), [1, 'a', [2, ['b']], null, 'FINE']);
    assert.equal(await node.send('GET', ['none']), null);
    assert.deepEqual(await node.send('EVAL', ['return {}', '0']), []);
  }),
  onServer('an error within an array is an Error', async (_, node) => {
    const reply = (await node.send('EVAL', ["return { 1, redis.error_reply('MINE text') }", '0'])) as unknown[];
    assert.ok(reply[1] instanceof Error && reply[1].message === 'MINE text');
  }),
  onServer('an error reply is a failure with its whole text', async (_, node) => {
    const wrong = await failure(node.send('EVAL', ["return redis.error_reply('MINE some text')", '0']));
    assert.deepEqual(
      [wrong.kind, wrong.code, wrong.message, wrong.mayHaveRun],
      ['reply', 'MINE', 'MINE some text', false],
    );
    const missing = await failure(node.send('EVALSHA', ['0'.repeat(40), '0']));
    assert.ok(missing.kind === 'reply' && missing.noScript);
    const lower = await failure(node.send('EVAL', ["return redis.error_reply('lower case')", '0']));
    assert.equal(lower.kind, 'reply');
  }),
  onServer('commands are written in the order in which they were sent', async (_, node) => {
    const sent = Array.from({ length: 500 }, (_item, i) => String(i));
    await Promise.all(sent.map((i) => node.send('RPUSH', ['list', i])));
    assert.deepEqual(texts(await node.send('LRANGE', ['list', '0', '-1'])), sent);
  }),
  onServer('a receiver is called once, after `run` has returned', async (_, node) => {
    const calls: unknown[] = [];
    await new Promise<void>((resolve) => {
      node.run('PING', [], { replied: (reply) => resolve(void calls.push(texts(reply))), failed: () => resolve() });
      calls.push('returned');
    });
    assert.deepEqual(calls, ['returned', 'PONG']);
  }),
  onServer('a reply in an open MULTI is lost', async (_, node) => {
    await node.send('MULTI', []);
    assert.equal((await failure(node.send('INCR', ['k']))).kind, 'lost');
    await node.send('DISCARD', []).catch(() => undefined);
  }),
  onServer('the time of a command is measured', async (_, node) => {
    let took: number | undefined;
    const reply = await node.sendMeasured('EVAL', ['return 1', '0'], (ms) => (took = ms));
    await eventually(() => assert.ok(took !== undefined && took >= 0 && took < 60_000));
    assert.equal(reply, 1);
  }),
  {
    name: 'the time is unknown to a user who may not send TIME',
    async run(adapter) {
      await using server = await startRedis();
      await withConnection(adapter.standalone(server), async (_, node) => {
        await node.send('ACL', ['SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-time']);
      });
      const user = { username: 'app', password: 'secret' };
      await withConnection(adapter.standalone(server, user), async (_, node) => {
        const took: unknown[] = [];
        assert.equal(await node.sendMeasured('EVAL', ['return 1', '0'], (ms) => void took.push(ms)), 1);
        await eventually(() => assert.deepEqual(took, [undefined]));
      });
    },
  },
  {
    name: 'a command is not sent while there is no connection, and its failure comes later',
    async run(adapter) {
      const server = await startRedis();
      await withConnection(adapter.standalone(server), async (_, node) => {
        await server.stop();
        await eventually(() => assert.ok(!node.ready));
        let returned = false;
        const answer = failure(node.send('INCR', ['k'])).then((failed) => ({ failed, returned }));
        returned = true;
        const { failed, returned: later } = await answer;
        assert.deepEqual([failed.kind, failed.mayHaveRun, later], ['not-sent', false, true]);
      });
    },
  },
  {
    name: 'a command whose reply is lost either fails as lost, or is sent again and says so',
    async run(adapter) {
      await using server = await startRedis();
      await using proxy = await startFaultProxy(server);
      await withConnection(adapter.standalone(proxy), async (connection, node) => {
        const dropped = proxy.dropReply({ when: (request) => request.includes('INCR') });
        let resent = 0;
        const outcome = await node
          .send('INCR', ['k'], () => (resent += 1))
          .then(
            (reply) => ({ reply, failed: undefined }),
            (error: unknown) => ({ reply: undefined, failed: error as CommandFailure }),
          );
        await dropped;
        if (outcome.failed) assert.deepEqual([outcome.failed.kind, outcome.failed.mayHaveRun], ['lost', true]);
        else assert.ok(resent > 0 && Number(outcome.reply) === 2);
        await eventually(async () => {
          const [own] = connection.nodes();
          assert.ok(own?.ready && Number(texts(await own.send('GET', ['k']))) >= 1);
        });
      });
    },
  },
  {
    name: 'listeners learn that a connection ended, and that it is ready again',
    async run(adapter) {
      await using server = await startRedis();
      const made = adapter.standalone(server);
      const seen: string[] = [];
      const stop = made.connection.listen((event) => void seen.push(event));
      await withConnection(made, async (connection) => {
        seen.length = 0;
        await server.kill();
        await eventually(() => assert.ok(seen.includes('down')));
        await server.restart();
        await eventually(() => assert.ok(seen.includes('ready') && connection.nodeFor(0)?.ready));
        stop();
        seen.length = 0;
        await server.kill();
        await eventually(() => assert.ok(!connection.nodeFor(0)?.ready));
        assert.deepEqual(seen, []);
        await server.restart();
      });
    },
  },
  {
    name: 'a dedicated connection is another one, uses the same database, and is kept until it ends',
    async run(adapter) {
      await using server = await startRedis();
      await withConnection(adapter.standalone(server, { database: 3 }), async (connection, node) => {
        await node.send('SET', ['k', 'in 3']);
        const own = await connection.dedicated(node);
        const [value, id] = await own.sendAll([
          ['GET', ['k']],
          ['CLIENT', ['ID']],
        ]);
        assert.equal(texts(value), 'in 3');
        assert.notEqual(id, await node.send('CLIENT', ['ID']));
        assert.equal(await connection.dedicated(node), own);
        const [wrong, after] = await own.sendAll([
          ['NOSUCH', []],
          ['PING', []],
        ]);
        assert.equal((wrong as CommandFailure).kind, 'reply');
        assert.equal(texts(after), 'PONG');
        await node.send('CLIENT', ['KILL', 'ID', String(id)]);
        await eventually(async () => assert.notEqual(await connection.dedicated(node), own));
        const next = await connection.dedicated(node);
        assert.equal(texts((await next.sendAll([['GET', ['k']]]))[0]), 'in 3');
      });
    },
  },
  onServer('a channel passes messages on, and its end is reported', async (connection, node) => {
    const seen: string[] = [];
    const on: ChannelEvents = {
      message: (channel, text) => void seen.push(`${channel} ${text}`),
      lost: (channel) => void seen.push(`lost ${channel}`),
      ended: () => void seen.push('ended'),
    };
    const subscriber = await connection.subscriber(node, on);
    await subscriber.subscribe('one');
    await subscriber.subscribe('two');
    await node.send('SPUBLISH', ['one', 'schön']);
    await eventually(() => assert.deepEqual(seen, ['one schön']));
    await subscriber.ping();
    await subscriber.unsubscribe('one');
    await node.send('SPUBLISH', ['one', 'b']);
    await node.send('SPUBLISH', ['two', 'c']);
    await eventually(() => assert.deepEqual(seen, ['one schön', 'two c']));
    await node.send('CLIENT', ['KILL', 'TYPE', 'pubsub']);
    await eventually(() => assert.equal(seen.filter((what) => what === 'ended').length, 1));
    subscriber.close();
  }),
  onServer('a channel may be subscribed to again before its last subscription has ended', async (connection, node) => {
    const seen: string[] = [];
    const message = (channel: string, text: string): void => void seen.push(`${channel} ${text}`);
    const subscriber = await connection.subscriber(node, { message, lost: () => undefined, ended: () => undefined });
    await subscriber.subscribe('kept');
    await subscriber.subscribe('again');
    for (let turn = 1; turn <= 3; turn++) {
      await Promise.all([subscriber.unsubscribe('again'), subscriber.subscribe('again')]);
      await node.send('SPUBLISH', ['again', String(turn)]);
      await eventually(() => assert.equal(seen.at(-1), `again ${turn}`));
    }
    assert.equal(seen.length, 3);
    subscriber.close();
  }),
  onCluster('each slot has its master', async (connection, cluster) => {
    const masters = await cluster.masters();
    await eventually(() => assert.equal(connection.nodes().filter(({ ready }) => ready).length, masters.length));
    assert.ok(connection.clustered);
    assert.deepEqual(connection.lostMasters(), []);
    for (const slot of [0, 1_000, 16_383]) {
      const { host, port } = await cluster.masterOf(slot);
      assert.equal(connection.nodeFor(slot)?.id, `${host}:${port}`);
    }
  }),
  onCluster('routed commands follow MOVED and ASK', async (connection, cluster) => {
    const key = `{${randomUUID()}}`;
    const slot = slotOf(key);
    const from = await cluster.masterOf(slot);
    const to = (await cluster.masters()).find(({ port }) => port !== from.port) as typeof from;
    assert.equal(await connection.sendRouted('EVAL', [COUNT, '1', key]), 1);
    await cluster.beginMigration(slot, from, to);
    // The key does not exist yet. So the slot's old master replies ASK, and the new one runs the script.
    assert.equal(await connection.sendRouted('EVAL', [COUNT, '1', `${key}:new`]), 1);
    await cluster.migrateKeys(slot, from, to);
    assert.equal(await connection.sendRouted('EVAL', [COUNT, '1', key]), 2);
    await cluster.finishMigration(slot, from, to);
    assert.equal(await connection.sendRouted('EVAL', [COUNT, '1', key]), 3);
    connection.refresh();
    await eventually(() => assert.equal(connection.nodeFor(slot)?.id, `${to.host}:${to.port}`));
  }),
  onCluster('an error that a script raised is not followed: the script runs once', async (connection, cluster) => {
    const key = `{${randomUUID()}}`;
    const { host, port } = await cluster.masterOf(slotOf(key));
    for (const code of [
      `MOVED ${slotOf(key)} ${host}:${port} by a script`,
      'TRYAGAIN of a script',
      'ASK of a script',
    ]) {
      const name = `${key}${code}`;
      const source = "redis.call('INCR', KEYS[1]) error({ err = ARGV[1] })";
      const failed = await failure(connection.sendRouted('EVAL', [source, '1', name, code]));
      assert.equal(failed.kind, 'reply');
      const runs = await connection.sendRouted('EVAL', ["return redis.call('GET', KEYS[1])", '1', name]);
      assert.equal(texts(runs), '1');
    }
  }),
];
