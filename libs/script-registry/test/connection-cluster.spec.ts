import { InvalidOptionError } from '../../internal/src';
import { connectIoredis } from '../src/connection/ioredis-connection';
import type { CommandFailure } from '../src/connection/port';
import { cluster, failureOf, type FakeClient, type FakeCluster, replyError, turn } from './client-support';

const CLOSED = 'Connection is closed.';

describe('the connection of a Cluster', () => {
  it('has its masters and replicas as nodes', () => {
    const connection = connectIoredis(cluster().cluster);
    expect(connection.nodes().map(({ id, role }) => [id, role])).toEqual([
      ['h:1', 'master'],
      ['h:2', 'master'],
      ['h:3', 'replica'],
    ]);
    expect(connection.clustered).toBe(true);
  });

  it('refuses a client that returns numbers as text', () => {
    for (const client of [
      cluster({ redisOptions: { stringNumbers: true } }),
      cluster({ stringNumbers: true } as never),
    ]) {
      expect(() => connectIoredis(client.cluster)).toThrow(InvalidOptionError);
      expect(() => connectIoredis(client.cluster)).toThrow(/client has stringNumbers: true/);
    }
  });

  it('finds the master of a slot, and any ready master for a slot without one', () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    expect([connection.nodeFor(0)?.id, connection.nodeFor(1)?.id, connection.nodeFor(2)?.id]).toEqual([
      'h:1',
      'h:2',
      'h:1',
    ]);
    (client.masters[0] as FakeClient).status = 'connecting';
    expect(connection.nodeFor(2)?.id).toBe('h:2');
    (client.masters[1] as FakeClient).status = 'connecting';
    expect(connection.nodeFor(2)).toBeUndefined();
    // A replica would not do, although it is ready.
    expect(connection.nodes().map(({ ready }) => ready)).toEqual([false, false, true]);
  });

  it('finds no node while the slots are unknown, or for a slot without a master while the client is not ready', () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    client.status = 'connect';
    expect([connection.nodeFor(0)?.id, connection.nodeFor(2)]).toEqual(['h:1', undefined]);
    client.status = 'ready';
    client.slots = [];
    expect(connection.nodeFor(0)).toBeUndefined();
  });

  it('names the masters that own slots but are not among its nodes', () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    expect(connection.lostMasters()).toEqual([]);
    client.slots = [['h:9'], ['h:9'], ['h:1']];
    client.slots[5] = ['h:8'];
    client.slots.push([]);
    expect(connection.lostMasters()).toStrictEqual(['h:9', 'h:8']);
    client.slots = [];
    expect(connection.lostMasters()).toEqual(['the masters of all slots']);
  });

  it('reads the nodes again when they may have changed, and forgets those that have left', () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    const [first, second] = connection.nodes();
    const left = client.masters[1] as FakeClient;
    client.masters = [client.masters[0] as FakeClient];
    expect(connection.nodes()).toHaveLength(3);
    client.emit('-node');
    expect(connection.nodes().map(({ id }) => id)).toEqual(['h:1', 'h:3']);
    expect(connection.nodes()[0]).toBe(first);
    expect([left.eventNames(), second?.id]).toEqual([[], 'h:2']);
  });

  it('makes a new node of a replica that was promoted', () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    const before = connection.nodes()[2];
    const promoted = client.replicas[0] as FakeClient;
    [client.masters, client.replicas] = [[...client.masters, promoted], []];
    client.emit('refresh');
    const after = connection.nodes()[2];
    expect([after?.id, after?.role, after === before]).toEqual(['h:3', 'master', false]);
    // Two listeners of `close` and one each of `ready` and `end`: those of one node.
    expect(['ready', 'close', 'end'].map((event) => promoted.listenerCount(event))).toEqual([1, 2, 1]);
  });

  it('passes on what happens to it and to its nodes, and connects its lazy nodes', () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    const seen: unknown[] = [];
    const stop = connection.listen((event, node) => seen.push(node ? [event, node.id] : event));
    expect(client.calls).toEqual(['refresh']);
    const lazy = client.masters[1] as FakeClient;
    lazy.status = 'wait';
    for (const event of ['ready', '+node', '-node', 'refresh', 'close', 'end']) client.emit(event);
    expect(seen).toEqual(['topology', 'topology', 'topology', 'topology', 'down', 'down']);
    expect(lazy.calls).toEqual(Array(6).fill('connect'));
    lazy.emit('ready');
    lazy.emit('close');
    expect(seen.slice(6)).toEqual([['ready', 'h:2'], ['down', 'h:2']]); // prettier-ignore
    stop();
    client.emit('ready');
    lazy.emit('ready');
    expect(seen).toHaveLength(8);
  });

  it('connects a lazy client, asks a ready one for its slots, and leaves others alone', async () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    client.status = 'wait';
    connection.refresh();
    client.status = 'connecting';
    connection.refresh();
    client.status = 'ready';
    (client.masters[0] as FakeClient).status = 'wait';
    connection.refresh();
    await turn();
    expect(client.calls).toEqual(['connect', 'refresh']);
    expect(client.masters[0]?.calls).toEqual(['connect']);
  });

  it('opens one dedicated connection to each node, and closes them', async () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    const [first, second] = connection.nodes() as [never, never];
    const [one, same] = await Promise.all([connection.dedicated(first), connection.dedicated(first)]);
    await connection.dedicated(second);
    expect([same, client.masters.map(({ duplicates }) => duplicates.length)]).toEqual([one, [1, 1]]);
    client.masters[0]?.duplicates[0]?.emit('end');
    await connection.dedicated(first);
    client.masters[0]?.duplicates[0]?.emit('end');
    await connection.dedicated(first);
    expect(client.masters[0]?.duplicates).toHaveLength(2);
    connection.close();
    await turn();
    expect(client.masters.flatMap(({ duplicates }) => duplicates.map(({ calls }) => calls.at(-1)))).toEqual([
      'connect',
      'disconnect',
      'disconnect',
    ]);
    expect([client.eventNames(), client.masters[0]?.eventNames()]).toEqual([[], []]);
  });

  it('opens a new dedicated connection after one that could not connect', async () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    const [node] = connection.nodes() as [never];
    const master = client.masters[0] as FakeClient;
    master.failure = new Error('refused');
    expect(await failureOf(connection.dedicated(node))).toMatchObject({
      kind: 'not-sent',
      message: 'No connection could be opened: refused',
    });
    master.failure = undefined;
    const opened = await connection.dedicated(node);
    master.duplicates[0]?.emit('end');
    expect(await connection.dedicated(node)).toBe(opened);
  });
});

describe('a command that the Cluster routes', () => {
  it('gets its reply', async () => {
    const client = cluster();
    const answer = connectIoredis(client.cluster).sendRouted('EVALSHA', ['sha']);
    client.last.resolve(Buffer.from('1'));
    await expect(answer).resolves.toEqual(Buffer.from('1'));
    const queued = connectIoredis(client.cluster).sendRouted('EVALSHA', ['sha']);
    client.last.resolve(Buffer.from('QUEUED'));
    expect(await failureOf(queued)).toMatchObject({ kind: 'lost' });
  });

  it('that was written again without a reply says so', async () => {
    const client = cluster();
    const resent = jest.fn();
    const answers = [1, 2].map((writes) => {
      const answer = connectIoredis(client.cluster).sendRouted('EVALSHA', ['sha'], resent);
      for (let i = 1; i < writes; i++) client.last.toWritable({});
      client.last.resolve(1);
      return answer;
    });
    await Promise.all(answers);
    expect(resent).toHaveBeenCalledTimes(1);
    // It was written again because Redis had redirected it.
    const redirected = connectIoredis(client.cluster).sendRouted('EVALSHA', ['sha'], resent);
    client.last.toWritable({});
    client.last.errorReplies = 1;
    client.last.resolve(1);
    await redirected;
    expect(resent).toHaveBeenCalledTimes(1);
  });

  it('is not sent while the Cluster is not ready or has no nodes', async () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    client.status = 'connecting';
    const message = 'the Cluster is not connected, or not ready yet';
    expect(await failureOf(connection.sendRouted('GET', []))).toMatchObject({ kind: 'not-sent', message });
    client.status = 'ready';
    [client.masters, client.replicas] = [[], []];
    expect(await failureOf(connection.sendRouted('GET', []))).toMatchObject({ kind: 'not-sent', message });
    expect(client.commands).toEqual([]);
  });

  it('fails as Redis or the client says', async () => {
    const client = cluster();
    const connection = connectIoredis(client.cluster);
    const answer = connection.sendRouted('EVALSHA', ['sha']);
    client.last.reject(replyError('OOM x'));
    expect(await failureOf(answer)).toMatchObject({ kind: 'reply', mayHaveRun: true });
    client.failure = new Error('Cluster is ended.');
    expect(await failureOf(connection.sendRouted('GET', []))).toMatchObject({ kind: 'not-sent', message: 'Cluster is ended.' }); // prettier-ignore
  });

  it('is not routed again without a reply if the client does not resend commands', async () => {
    const routes: string[] = [];
    for (const autoResendUnfulfilledCommands of [true, false]) {
      const client = cluster({ redisOptions: { autoResendUnfulfilledCommands } });
      const answer = connectIoredis(client.cluster).sendRouted('EVALSHA', ['sha']);
      const end = client.last.reject;
      client.last.reject = (error: Error) => (routes.push(String(autoResendUnfulfilledCommands)), end(error));
      client.last.reject(new Error(CLOSED));
      expect(await failureOf(answer)).toMatchObject({ kind: 'lost' });
    }
    expect(routes).toEqual(['true']);
  });
});

describe('ASKING', () => {
  it('has a handler for its error, which ioredis would leave to end the process', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const client = cluster();
    connectIoredis(client.cluster).nodes();
    const master = client.masters[0] as FakeClient;
    master.failure = new Error(CLOSED);
    // As ioredis does after a reply ASK.
    void master.redis.asking();
    await turn();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});

describe('a script whose node closes the connection before the reply', () => {
  const start = (client: FakeCluster, name = 'EVALSHA'): Promise<CommandFailure> => {
    const connection = connectIoredis(client.cluster);
    let again = '';
    const answer = new Promise<CommandFailure>((resolve, reject) =>
      connection.nodes()[0]?.run(name, ['sha'], {
        resent: () => void (again = 'again '),
        replied: (reply) => reject(new Error(again + String(reply))),
        failed: resolve,
      }),
    );
    client.masters[0]?.last.reject(new Error(CLOSED));
    return answer;
  };

  it('is sent again through the Cluster, and then may have run', async () => {
    const client = cluster();
    const answer = start(client);
    await turn();
    expect(client.last.args).toEqual(['sha']);
    client.last.reject(replyError('OOM x'));
    expect(await answer).toMatchObject({ kind: 'reply', code: 'OOM', mayHaveRun: true });
    const second = start(client);
    await turn();
    client.last.resolve(5);
    await expect(second).rejects.toThrow('again 5');
  });

  it.each([
    ['another command', {}, 'SCRIPT'],
    ['a client that does not resend', { redisOptions: { autoResendUnfulfilledCommands: false } }, 'EVALSHA'],
  ])('is lost: %s', async (_, options, name) => {
    const client = cluster(options);
    expect(await start(client, name)).toMatchObject({ kind: 'lost' });
    await turn();
    expect(client.commands).toEqual([]);
  });

  it('is not sent again after another failure', async () => {
    const client = cluster();
    const node = connectIoredis(client.cluster).nodes()[0];
    for (const error of [replyError(CLOSED), new Error('Command timed out')]) {
      const answer = failureOf(node?.send('EVALSHA', ['sha']) as Promise<unknown>);
      client.masters[0]?.last.reject(error);
      expect((await answer).message).toBe(error.message);
    }
    expect(client.commands).toEqual([]);
  });
});
