import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import { defineScript } from 'luanest/script-registry';
import { MemoryRedis } from '../../memory-redis/src/memory-redis';
import { CommandFailure, type RedisConnection, type RedisNode } from '../src/connection/port';
import { Preload } from '../src/preload';
import { ScriptLoader } from '../src/script-loader';
import { openRegistry, quiet } from './support';

it('a load that fails because its connection closed does not count for the next connection', async () => {
  const client = quiet(new MemoryRedis().client({ autoResendUnfulfilledCommands: false, retryStrategy: () => 60_000 }));
  const registry = await openRegistry(client, { preload: 'required' });
  const { connection, loader } = registry as unknown as { connection: RedisConnection; loader: ScriptLoader };
  const [node] = connection.nodes() as [RedisNode];
  expect(loader.loaded.has(node)).toBe(true);
  const late = {
    name: 'test.late',
    keys: ['k'],
    args: {},
    source: 'return KEYS[1]',
    reply: (raw: string) => raw,
  } as const;
  registry.register([defineScript(late)]);
  const closed = once(client, 'close');
  client.disconnect(true);
  await closed;
  await new Promise(setImmediate);
  expect(loader.loaded.has(node)).toBe(false);
  registry.close();
  client.disconnect();
});

const SCRIPT = { sha: 'a'.repeat(40), body: 'return 1' };

it.each([
  ['lost after a check are loaded', [0], ['EXISTS', 'EXISTS', 'LOAD']],
  ['there after a check are not loaded again', [1], ['EXISTS', 'EXISTS']],
])('scripts that are %s', async (_, present, expected) => {
  let checkedFirst = (_present: number[]): void => undefined;
  const sent: string[] = [];
  const node = {
    id: 'node:1',
    send: (_name: string, [subcommand]: string[]) => {
      sent.push(subcommand as string);
      if (subcommand === 'LOAD') return Promise.resolve(SCRIPT.sha);
      return sent.length > 1 ? Promise.resolve(present) : new Promise((resolve) => (checkedFirst = resolve));
    },
  } as unknown as RedisNode;
  const loader = new ScriptLoader('test', { nodes: () => [] } as unknown as RedisConnection, () => undefined);
  loader.add([SCRIPT]);
  const checked = loader.loadMissing(node);
  // The check was sent before the scripts were lost. Two calls then get NOSCRIPT.
  const loads = [loader.load(node), loader.load(node)];
  checkedFirst([1]);
  await Promise.all([checked, ...loads]);
  expect(sent).toEqual(expected);
});

it('a server without Lua is named at boot and in the health check', async () => {
  const error = new CommandFailure('reply', "ERR Could not find scripting engine 'lua'");
  const node = {
    id: 'node:1',
    role: 'master',
    ready: true,
    send: (_name: string, [subcommand]: string[]) =>
      subcommand === 'EXISTS' ? Promise.resolve([0]) : subcommand ? Promise.reject(error) : Promise.resolve('PONG'),
  } as unknown as RedisNode;
  const connection = {
    nodes: () => [node],
    lostMasters: () => [],
    listen: () => () => undefined,
  } as unknown as RedisConnection;
  const loader = new ScriptLoader('test', connection, () => undefined);
  loader.add([SCRIPT]);
  const options = { preload: 'required', preloadTimeoutMs: 5_000, deadlineMs: 5_000 } as const;
  const preload = new Preload(connection, loader, options, new Logger(), () => undefined);
  const why =
    'this server cannot run Lua scripts, because its module lua is not loaded. Load the module lua, or use another server';
  await expect(preload.start()).rejects.toThrow(`node:1: ${why}`);
  expect(await preload.health(1_000)).toEqual({
    healthy: false,
    problems: [`node:1 replies to PING, but 1 of 1 scripts are not loaded there: ${why}`],
  });
  preload.close();
  loader.close();
});

describe('preload: required', () => {
  /** A Cluster of one master, and a replica that does not answer. `lose` closes the connection to the master. */
  function start(preloadTimeoutMs: number) {
    let ready = true;
    let notify: (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void;
    const of = (id: string, role: RedisNode['role'], send: RedisNode['send']): RedisNode =>
      ({
        id,
        role,
        send,
        get ready() {
          return ready;
        },
      }) as RedisNode;
    const nodes = [
      of('master:1', 'master', () =>
        ready ? Promise.resolve(SCRIPT.sha) : Promise.reject(new CommandFailure('not-sent', 'not connected')),
      ),
      of('replica:1', 'replica', () => new Promise(() => undefined)),
    ];
    const [master] = nodes;
    const connection = {
      nodes: () => nodes,
      lostMasters: () => [],
      listen: (listener: typeof notify) => ((notify = listener), () => undefined),
    } as unknown as RedisConnection;
    const loader = new ScriptLoader('test', connection, () => undefined);
    loader.add([SCRIPT]);
    const options = { preload: 'required', preloadTimeoutMs, deadlineMs: 5_000 } as const;
    const done = new Preload(connection, loader, options, new Logger(), () => undefined).start();
    const set = (isReady: boolean): void => {
      ready = isReady;
      notify(isReady ? 'ready' : 'down', master);
    };
    /** A connection that closes before the event of its beginning arrives. */
    const flap = (): void => {
      ready = false;
      notify('ready', master);
    };
    return { done, lose: () => set(false), find: () => set(true), flap };
  }

  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('fails if the master is lost while boot waits for a replica', async () => {
    const { done, lose } = start(5_000);
    const failed = expect(done).rejects.toMatchObject({
      code: 'PRELOAD_FAILED',
      message: expect.stringContaining('master:1: not connected') as string,
    });
    await jest.advanceTimersByTimeAsync(500);
    lose();
    await jest.advanceTimersByTimeAsync(5_000);
    await failed;
  });

  it('boots if the master is back in time', async () => {
    const { done, lose, find } = start(5_000);
    await jest.advanceTimersByTimeAsync(500);
    lose();
    await jest.advanceTimersByTimeAsync(2_000);
    find();
    await jest.advanceTimersByTimeAsync(1_000);
    await done;
  });

  it('boots if a connection to the master closed at once, and the next one holds', async () => {
    const { done, lose, find, flap } = start(5_000);
    lose();
    await jest.advanceTimersByTimeAsync(500);
    flap();
    await jest.advanceTimersByTimeAsync(500);
    lose();
    find();
    await jest.advanceTimersByTimeAsync(1_000);
    await done;
  });
});
