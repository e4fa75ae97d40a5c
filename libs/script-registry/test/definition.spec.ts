import calculateSlot from 'cluster-key-slot';
import fc from 'fast-check';
import { defineScript, int, KeySpace, list, str } from 'luanest/script-registry';
import { itIoredis } from '../../../test/support/client-kind';
import { slotOf, InvalidOptionError } from '../../internal/src';
import { connectClient } from '../src/connection/connect';
import { fingerprint } from '../src/define-script';
import { resolveOptions } from '../src/script-registry.options';
import { standaloneClient } from './support';

const base = { name: 'test.x', keys: ['k'] as const, args: {}, source: 'return 1', reply: (raw: number) => raw };

describe('defineScript', () => {
  it.each([
    ['a name without a lib', { name: 'x' }, /^defineScript\("x"\): .*<lib>\.<verb>/],
    ['no key', { keys: [] }, /^defineScript\("test\.x"\): `keys` is empty/],
    ['a key twice', { keys: ['a', 'a'] }, /Two keys have the same name: a, a/],
    ['an argument that would be reordered', { args: { b: int, 1: int } }, /One argument is named "1"/],
    ['an argument with brackets', { args: { 'a[]': int } }, /One argument is named "a\[\]"/],
    ['a key and a list of keys with one name', { keys: ['a', 'a[]'] }, /Two keys have the same name: a, a\[\]/],
    ['a list of keys that is not last', { keys: ['a[]', 'b'] }, /list of keys .* is not the last of `keys`/],
    ['a list argument that is not last', { args: { a: list(str), b: int } }, /list argument is not the last of `args`/],
    ['an undeclared key', { source: 'return redis.call("GET", KEYS[2])' }, /KEYS\[2\].*declares 1: k/],
    ['an undeclared argument', { source: 'return ARGV[1]' }, /ARGV\[1\].*declares 0: none/],
    ['an index below 1', { source: 'return KEYS[0]' }, /KEYS\[0\].*start at 1/],
    ['an index that is not an integer', { source: 'return KEYS[1.5]' }, /KEYS\[1\.5\]/],
    ['an empty source', { source: ' ' }, /source is " "/],
    [
      'a section above the calls that reads a key',
      { source: 'local k = KEYS[1]\n-- @call\nreturn 1' },
      /above the line `-- @call` reads KEYS/,
    ],
    [
      'a section above the calls that loops over arguments',
      { source: 'local n = #ARGV\n-- @call\nreturn n' },
      /above the line `-- @call` reads KEYS/,
    ],
    ['a call that reads a key too many', { source: 'local n = 1\n-- @call\nreturn KEYS[2]' }, /KEYS\[2\]/],
    [
      'a source with a section at its end',
      { source: 'return 1\n-- @finish\nlocal n = 1' },
      /which only group\.source may have/,
    ],
    ['Lua for groups that is empty', { group: { source: ' ' } }, /source is " "/],
    ['Lua for groups that reads a key too many', { group: { source: 'return KEYS[2]' } }, /KEYS\[2\].*declares 1: k/],
    [
      'a finish that reads an argument',
      { group: { source: 'return 1\n-- @finish\nlocal a = ARGV[1]' } },
      /below the line `-- @finish` reads ARGV/,
    ],
    [
      'a finish that reads a key too many',
      { group: { source: 'return 1\n-- @finish\nlocal a = KEYS[9]' } },
      /KEYS\[9\]/,
    ],
    ['a #! line of its own', { source: '#!lua\nreturn 1' }, /begins with a #! line/],
    ['an unknown flag', { flags: ['no-cluster'] }, /flags contains "no-cluster"/],
    ['an empty group', { group: { maxCalls: 0 } }, /group\.maxCalls is 0/],
  ])('refuses %s', (_what, change, message) => {
    const define = (): unknown => defineScript({ ...base, ...change } as never);
    expect(define).toThrow(expect.objectContaining({ code: 'INVALID_SCRIPT' }) as Error);
    expect(define).toThrow(message);
  });

  it.each([
    ['in comments', '-- KEYS[7]\n--[==[ ARGV[8] ]] ]==] return KEYS[1] -- luanest_x'],
    ['by an index that it computes', 'return KEYS[1 + 8] or ARGV[#ARGV]'],
    ['in a line that only begins like a section', '-- @calls KEYS[9]\nreturn KEYS[1]'],
  ])('accepts other keys %s', (_what, source) => {
    expect(defineScript({ ...base, source })).toMatchObject({ source });
  });

  it.each([
    { source: 'return luanest_n' },
    { source: 'local luanest_x = 1\n-- @call\nreturn 1' },
    { group: { source: 'return luanest_calls' } },
  ])('refuses names that are reserved for the registry: %j', (lua) => {
    expect(() => defineScript({ ...base, ...lua })).toThrow(/uses a name that begins with luanest_/);
  });

  it.each([undefined, null, 'raw'])('refuses a reply that is %p', (reply) => {
    expect(() => defineScript({ ...base, reply } as never)).toThrow(/: reply is .*\. Expected a function\.$/);
  });

  it('is frozen, and has defaults', () => {
    const script = defineScript(base);
    expect(script).toMatchObject({ replyBytes: false, flags: [], group: { maxCalls: 128 } });
    expect(Object.isFrozen(script)).toBe(true);
  });

  it('is another script if its Lua, its parameters, its flags or `replyBytes` differ, and the same if its limits do', () => {
    const of = (change: object): string => fingerprint(defineScript({ ...base, ...change }));
    for (const change of [
      { source: 'return 2' },
      { group: { source: 'return 3' } },
      { keys: ['other'] },
      { args: { a: int } },
      { flags: ['no-writes'] },
      { replyBytes: true },
    ]) {
      expect(of(change)).not.toBe(of({}));
    }
    expect(of({ group: { maxCalls: 3 }, reply: () => 5 })).toBe(of({}));
  });
});

describe('KeySpace', () => {
  const space = new KeySpace('app', 'test');
  const subject = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).filter((text) => text.isWellFormed());

  it('keeps one hash tag whatever the subject and the segments contain', () => {
    fc.assert(
      fc.property(
        fc.oneof(subject, fc.constantFrom('}', '{', '{}', '}{', '{a}b', 'a:b', '%7B')),
        subject,
        (who, segment) => {
          const tag = space.tag(who);
          const keys = [tag.key('one'), tag.key('two', segment), tag.key('two', segment, '}{')];
          expect(new Set(keys.map((key) => calculateSlot(key))).size).toBe(1);
          const inner = /^app:test:\{([^{}]+)\}/.exec(keys[0] as string)?.[1] as string;
          expect(calculateSlot(keys[0] as string)).toBe(calculateSlot(inner));
        },
      ),
    );
  });

  it('gives different subjects and segments different keys', () => {
    const parts = fc.tuple(subject, fc.array(subject, { maxLength: 3 }));
    fc.assert(
      fc.property(parts, parts, ([a, as], [b, bs]) => {
        const equal = a === b && JSON.stringify(as) === JSON.stringify(bs);
        expect(space.tag(a).key('k', ...as) === space.tag(b).key('k', ...bs)).toBe(equal);
      }),
    );
    expect(space.tag('s').key('k', 'a:b', 'c')).not.toBe(space.tag('s').key('k', 'a', 'b:c'));
    expect(space.tag('{').key('k')).not.toBe(space.tag('%7B').key('k'));
  });

  it.each(['', '\ud800', 'x'.repeat(1_025), undefined])('refuses the subject %p', (value) => {
    expect(() => space.tag(value as string)).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
    expect(() => space.tag('s').key('k', value as string)).toThrow(
      expect.objectContaining({ code: 'INVALID_KEY' }) as Error,
    );
  });

  it('builds keys in the slot of an existing key, with its hash tag unchanged', () => {
    expect(space.sameSlotAs('other:{a%7Bb}:stream').key('note', 'x')).toBe('app:test:{a%7Bb}:note:x');
    expect(space.sameSlotAs('x{a{b}}').key('note')).toBe('app:test:{a{b}:note');
    expect(space.sameSlotAs('plain').key('note')).toBe('app:test:{plain}:note');
    for (const key of ['{}a', 'a{b', 'a}b', ''])
      expect(() => space.sameSlotAs(key)).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
    for (const key of ['other:{a%7Bb}:stream', 'x{a{b}}', 'plain']) {
      expect(slotOf(space.sameSlotAs(key).key('note'))).toBe(slotOf(key));
    }
  });

  it('refuses names and prefixes that would break a key', () => {
    expect(() => space.tag('s').key('Not Kebab')).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
    expect(() => new KeySpace('a{b', 'test')).toThrow(/brace/);
    expect(() => new KeySpace('a', 'te:st')).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
  });
});

describe('options', () => {
  it.each([
    [{ deadlineMs: 0 }, /deadlineMs.*0/],
    [{ deadlineMs: 2 ** 31 }, /deadlineMs/],
    [{ preload: 'lazy' }, /preload.*'required' or 'best-effort'/],
    [{ prefix: '' }, /prefix/],
    [{ prefix: 'a{' }, /prefix.*braces/],
    [{ prefix: 'x'.repeat(1_025) }, /prefix.*1 to 1024 characters/],
    [{ prefix: '\ud800' }, /prefix.*well-formed/],
    [{ grouping: 'yes' }, /grouping/],
    [{ dead: 1 }, /^ScriptRegistryModule: There is no option "dead"\. Known: url, /],
    [{ client: {}, connection: {} }, /connection and client/],
  ])('refuses %p', (options, message) => {
    expect(() => resolveOptions(options as never)).toThrow(InvalidOptionError);
    expect(() => resolveOptions(options as never)).toThrow(message);
  });

  it('refuses a client with a keyPrefix, and a value that is not a client', () => {
    const client = standaloneClient({ keyPrefix: 'mine:', lazyConnect: true });
    expect(() => connectClient(client)).toThrow(/keyPrefix "mine:".*prefix/);
    // As a client of node-redis, which has a method `sendCommand`, too.
    const nodeRedis = { isOpen: true, isReady: true, sendCommand: () => Promise.resolve('PONG') };
    for (const value of ['redis://localhost', nodeRedis]) {
      expect(() => connectClient(value as never)).toThrow(/client is .* Expected a Redis or a Cluster of ioredis/);
    }
    client.disconnect();
  });

  itIoredis('names what an adapter lacks', () => {
    const client = standaloneClient({ lazyConnect: true });
    const { clustered, ...rest } = connectClient(client);
    const adapter = { ...rest, sendRouted: () => undefined, listen: () => undefined };
    expect(clustered).toBe(false);
    expect(() => connectClient(adapter as never)).toThrow(
      'client is a RedisConnection, but has no clustered, nodes, lostMasters, nodeFor, refresh, dedicated, subscriber, close.',
    );
    client.disconnect();
  });
});
