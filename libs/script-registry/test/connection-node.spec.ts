import { IoredisNode } from '../src/connection/ioredis-node';
import type { CommandFailure } from '../src/connection/port';
import { failureOf, FakeClient, replyError, turn } from './client-support';

describe('a node', () => {
  it('has the path of its socket as its id, or its host and port', () => {
    const idOf = (options: object): string => new IoredisNode(new FakeClient(options).redis, 'master').id;
    expect(idOf({ path: '/run/redis.sock', host: 'h', port: 1 })).toBe('/run/redis.sock');
    expect(idOf({ host: 'h', port: 7000 })).toBe('h:7000');
    expect(idOf({})).toBe('localhost:6379');
  });

  it('is ready if its client is ready and can write', () => {
    const client = new FakeClient();
    const node = new IoredisNode(client.redis, 'master');
    expect(node.ready).toBe(true);
    client.stream = { writable: false };
    expect(node.ready).toBe(false);
    client.stream = undefined;
    expect(node.ready).toBe(false);
    client.stream = { writable: true };
    client.status = 'connecting';
    expect(node.ready).toBe(false);
  });

  it('connects a client that waits for its first command, and no other', async () => {
    const client = new FakeClient();
    const node = new IoredisNode(client.redis, 'master');
    node.connect();
    client.status = 'reconnecting';
    node.connect();
    expect(client.calls).toEqual([]);
    client.status = 'wait';
    client.failure = new Error('refused');
    node.connect();
    await turn();
    expect(client.calls).toEqual(['connect']);
  });

  it('reports when its client is ready and when its connection has closed or ended, until it is forgotten', () => {
    const client = new FakeClient();
    const node = new IoredisNode(client.redis, 'master');
    const seen: string[] = [];
    node.onStatus((event) => seen.push(event));
    for (const event of ['ready', 'close', 'end']) client.emit(event);
    expect(seen).toEqual(['ready', 'down', 'down']);
    node.forget();
    for (const event of ['ready', 'close', 'end']) client.emit(event);
    expect(seen).toHaveLength(3);
    expect(client.eventNames()).toEqual([]);
    node.forget();
  });
});

describe('a command to a node', () => {
  it('is written as it is, and gets the reply', async () => {
    const client = new FakeClient();
    const node = new IoredisNode(client.redis, 'master');
    const answer = node.send('EVALSHA', ['sha', '1', 'k']);
    expect([client.last.name, client.last.args]).toEqual(['EVALSHA', ['sha', '1', 'k']]);
    client.last.resolve(Buffer.from('reply'));
    await expect(answer).resolves.toEqual(Buffer.from('reply'));
  });

  it('is not sent while the client cannot write', async () => {
    const client = new FakeClient({ host: 'h', port: 1 });
    client.status = 'connecting';
    const failure = await failureOf(new IoredisNode(client.redis, 'master').send('GET', ['k']));
    expect(failure).toMatchObject({ kind: 'not-sent', message: 'h:1 is not connected, or not ready yet' });
    expect(client.commands).toEqual([]);
  });

  it('fails as not sent if ioredis refuses to make it', async () => {
    const client = new FakeClient();
    const get = (): never => {
      throw new Error('bad argument');
    };
    const args = Object.defineProperty(['k'], 0, { get });
    const failure = await failureOf(new IoredisNode(client.redis, 'master').send('GET', args));
    expect(failure).toMatchObject({ kind: 'not-sent', message: 'bad argument' });
  });

  it('fails in a later turn if ioredis throws while it writes', async () => {
    const client = new FakeClient();
    client.failure = new Error('Connection is closed.');
    const seen: string[] = [];
    new IoredisNode(client.redis, 'master').run('GET', ['k'], {
      replied: () => undefined,
      failed: ({ kind, message }: CommandFailure) => void seen.push(`${kind}: ${message}`),
    });
    seen.push('run has returned');
    await turn();
    expect(seen).toEqual(['run has returned', 'not-sent: Connection is closed.']);
  });

  it('fails with the error of Redis', async () => {
    const client = new FakeClient();
    const answer = new IoredisNode(client.redis, 'master').send('GET', ['k']);
    client.last.reject(replyError('OOM too much'));
    expect(await failureOf(answer)).toMatchObject({ kind: 'reply', code: 'OOM', mayHaveRun: false });
  });

  it('has an unknown outcome if other code has opened a MULTI on the connection', async () => {
    const client = new FakeClient();
    const node = new IoredisNode(client.redis, 'master');
    const answer = node.send('EVALSHA', ['sha']);
    client.last.resolve(Buffer.from('QUEUED'));
    expect(await failureOf(answer)).toMatchObject({
      kind: 'lost',
      message:
        'Redis replied QUEUED, because the app has begun a transaction (MULTI) on this connection. Use another client for transactions',
    });
    const text = node.send('EVALSHA', ['sha']);
    client.last.resolve(Buffer.from('QUEUED too'));
    await expect(text).resolves.toEqual(Buffer.from('QUEUED too'));
    const number = node.send('EVALSHA', ['sha']);
    client.last.resolve(1);
    await expect(number).resolves.toBe(1);
  });
});

describe('a command whose connection closes before the reply', () => {
  it('is lost if the client does not send it again', async () => {
    const client = new FakeClient({ host: 'h', port: 1, autoResendUnfulfilledCommands: false });
    const node = new IoredisNode(client.redis, 'master');
    const [answered, lost] = [node.send('GET', ['a']), node.send('GET', ['b'])];
    client.commands[0]?.resolve(Buffer.from('1'));
    await expect(answered).resolves.toEqual(Buffer.from('1'));
    client.emit('close');
    const message = 'The connection to h:1 closed before the reply';
    expect(await failureOf(lost)).toMatchObject({ kind: 'lost', message });
    const refused = node.send('GET', ['c']);
    client.last.reject(replyError('ERR x'));
    expect(await failureOf(refused)).toMatchObject({ kind: 'reply' });
  });

  it('waits if the client sends it again', async () => {
    const client = new FakeClient();
    const answer = new IoredisNode(client.redis, 'master').send('GET', ['a']);
    client.emit('close');
    await turn();
    client.last.resolve(Buffer.from('late'));
    await expect(answer).resolves.toEqual(Buffer.from('late'));
  });
});

describe('a command that the client wrote again', () => {
  it.each([1, 2])('says so before its reply, if it was written more than once (%d)', async (writes) => {
    const client = new FakeClient();
    const node = new IoredisNode(client.redis, 'master');
    const seen: unknown[] = [];
    const resent = (): void => void seen.push('resent');
    const answers = [node.send('EVAL', ['s'], resent), node.sendMeasured('EVAL', ['t'], () => undefined, resent)];
    for (const command of client.commands) {
      for (let i = 1; i < writes; i++) command.toWritable({});
      command.resolve(['7', '0']);
    }
    for (const answer of answers) seen.push(await answer);
    expect(seen.filter((one) => one === 'resent')).toHaveLength(writes === 1 ? 0 : 2);
  });
});

describe('a command that is measured', () => {
  const times = (client: FakeClient, before: unknown, after: unknown): void => {
    for (const [at, reply] of [before, after].entries()) {
      const time = client.commands[at * 2];
      if (reply instanceof Error) time?.reject(reply);
      else time?.resolve(reply);
    }
  };

  it('is written between two TIME in one write, and its time is what passed between them', async () => {
    const client = new FakeClient();
    const took = jest.fn();
    const answer = new IoredisNode(client.redis, 'master').sendMeasured('EVAL', ['s'], took);
    expect(client.commands.map(({ name }) => name)).toEqual(['TIME', 'EVAL', 'TIME']);
    expect(client.commands.map(({ args }) => args)).toEqual([[], ['s'], []]);
    expect(client.calls).toEqual(['cork', 'uncork']);
    client.commands[1]?.resolve(7);
    times(client, ['10', '500'], ['11', '2000']);
    await expect(answer).resolves.toBe(7);
    await turn();
    expect(took.mock.calls).toEqual([[1_001.5]]);
  });

  it('took no time if the clock of Redis was set back', async () => {
    const client = new FakeClient();
    const took = jest.fn();
    const answer = new IoredisNode(client.redis, 'master').sendMeasured('EVAL', ['s'], took);
    client.commands[1]?.resolve(7);
    times(client, ['10', '0'], ['9', '0']);
    await answer;
    await turn();
    expect(took.mock.calls).toEqual([[0]]);
  });

  it.each([
    ['NOPERM no TIME', [[undefined]]],
    ['ERR other', []],
  ])('reports nothing known if TIME fails with %s: %j', async (message, calls) => {
    const client = new FakeClient();
    const took = jest.fn();
    const answer = new IoredisNode(client.redis, 'master').sendMeasured('EVAL', ['s'], took);
    client.commands[1]?.resolve(7);
    times(client, replyError(message), replyError(message));
    await answer;
    await turn();
    expect(took.mock.calls).toEqual(calls);
  });

  it('reports nothing if only the second TIME fails', async () => {
    const client = new FakeClient();
    const took = jest.fn();
    const answer = new IoredisNode(client.redis, 'master').sendMeasured('EVAL', ['s'], took);
    client.commands[1]?.resolve(7);
    times(client, ['1', '0'], replyError('NOPERM x'));
    await answer;
    await turn();
    expect(took).not.toHaveBeenCalled();
  });

  it('is not measured if it fails, or if the client is not ready', async () => {
    const client = new FakeClient();
    const took = jest.fn();
    const node = new IoredisNode(client.redis, 'master');
    const answer = node.sendMeasured('EVAL', ['s'], took);
    client.commands[1]?.reject(replyError('ERR x'));
    times(client, ['1', '0'], ['2', '0']);
    expect(await failureOf(answer)).toMatchObject({ kind: 'reply' });
    client.status = 'connecting';
    expect(await failureOf(node.sendMeasured('EVAL', ['s'], took))).toMatchObject({ kind: 'not-sent' });
    await turn();
    expect(took).not.toHaveBeenCalled();
    expect(client.commands).toHaveLength(3);
  });
});
