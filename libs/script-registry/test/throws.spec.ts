import { Redis } from 'ioredis';
import { NotSentError, UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { Call } from '../src/pipe/call';
import { ScriptCodec } from '../src/pipe/script-codec';
import { ScriptLoader } from '../src/script-loader';
import { countOnce, limitCallsInFlight, openRegistry, quiet } from './support';
import { itIoredis } from '../../../test/support/client-kind';

// Nothing in the registry should throw while it sends a group. If something does, the callers must not wait for it until their
// deadlines, and the lane must not count the group as in flight for ever.
describe('a throw inside the sending of a group', () => {
  let client: Redis;
  let registry: ScriptRegistry;
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);

  beforeEach(async () => {
    client = quiet(new Redis(sharedRedisUrl()));
    // One call in flight: a group that is never forgotten blocks all later ones.
    const options = { preload: 'required', deadlineMs: 60_000, prefix: uniquePrefix() } as const;
    registry = await openRegistry(client, options);
    limitCallsInFlight(registry, 1);
    unhandled.length = 0;
    process.on('unhandledRejection', note);
  });
  afterEach(() => {
    process.off('unhandledRejection', note);
    jest.restoreAllMocks();
    registry.close();
    client.disconnect();
  });

  function keysOf(name: string) {
    const space = registry.keySpace('throws').tag(name);
    return { counter: space.key('counter'), tokens: space.key('tokens') };
  }

  /** Makes calls of which some share a command; each of these is rejected with this error, and later ones run. */
  async function settles(error: object): Promise<void> {
    const keys = keysOf('one');
    const call = async (token: string) => registry.run(countOnce, { keys, args: { token } });
    const outcomes = await Promise.allSettled([...'abcd'].map(call));
    expect(outcomes).toMatchObject([{ value: { count: 1 } }, ...[...'bcd'].map(() => ({ reason: error }))]);
    expect(await call('a')).toMatchObject({ count: 1, replayed: true });
    expect(unhandled).toEqual([]);
  }

  // eslint-disable-next-line @typescript-eslint/unbound-method
  const { resolve } = Call.prototype;
  const broken = (): never => {
    throw new TypeError('broken');
  };

  it('while the command of a group is built', async () => {
    jest.spyOn(ScriptCodec.prototype, 'command').mockImplementationOnce(broken);
    await settles({ code: 'UNKNOWN_OUTCOME', message: expect.stringContaining('broken') as string });
  });

  it('while the reply of a group is read', async () => {
    jest.spyOn(Call.prototype, 'resolve').mockImplementation(function (this: Call, raw: unknown) {
      return Array.isArray(raw) && raw.length === 2 && this.words.includes('b') ? broken() : resolve.call(this, raw);
    });
    await settles({ code: 'UNKNOWN_OUTCOME', message: expect.stringContaining('broken') as string });
  });

  itIoredis('while missing scripts are loaded', async () => {
    jest.spyOn(ScriptLoader.prototype, 'load').mockRejectedValueOnce(new TypeError('broken'));
    const noScript = Object.assign(new Error('NOSCRIPT No matching script.'), { name: 'ReplyError' });
    const sent = jest.spyOn(client, 'sendCommand').mockImplementationOnce(() => Promise.reject(noScript));
    const call = async () => registry.run(countOnce, { keys: keysOf('one'), args: { token: 'a' } });
    await expect(call()).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME', message: expect.stringContaining('broken') });
    expect(await call()).toMatchObject({ count: 1 });
    // On a busy machine, the registry may have begun to load the scripts again.
    const calls = sent.mock.calls.filter(([{ name }]) => name === 'EVALSHA');
    expect([calls.length, unhandled]).toEqual([2, []]);
  });

  itIoredis('while the client makes the command, which is then not sent', async () => {
    const made = jest.fn(broken);
    Object.defineProperty(client, 'constructor', { configurable: true, get: made });
    const call = async () => registry.run(countOnce, { keys: keysOf('one'), args: { token: 'a' } });
    await expect(call()).rejects.toThrow(NotSentError);
    expect(made).toHaveBeenCalledTimes(1);
    delete (client as { constructor?: unknown }).constructor;
    expect(await call()).toMatchObject({ count: 1, replayed: false });
  });

  it('while the call waits for replicas', async () => {
    jest.spyOn(ScriptCodec.prototype, 'command').mockImplementationOnce(broken);
    const input = { keys: keysOf('one'), args: { token: 'a' } };
    const wait = { replicas: 1, timeoutMs: 1 };
    await expect(registry.runAndWait(countOnce, input, wait)).rejects.toThrow(UnknownOutcomeError);
    expect(await registry.runAndWait(countOnce, input, wait)).toMatchObject({ result: { count: 1 } });
    expect(unhandled).toEqual([]);
  });
});
