import type { Redis } from 'ioredis';
import Redis5 from 'ioredis5';
import { bytes, defineScript, list, str, type ScriptRegistry } from 'luanest/script-registry';
import type { BytesReply } from '../src/script-definition';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { size } from '../../../test/support/size';
import { openRegistry, quiet, standaloneClient } from './support';

/** Stores bytes and returns them in every position that a reply has, with their length as Lua sees it. */
const keep = defineScript({
  name: 'test.keep',
  keys: ['value'],
  args: { rule: str, value: bytes, more: list(bytes) },
  source: `
redis.call('SET', KEYS[1], ARGV[2], 'PX', 60000)
local more = {}
for i = 3, #ARGV do more[#more + 1] = ARGV[i] end
return { redis.call('GET', KEYS[1]), #ARGV[2], { ARGV[2], more }, ARGV[1], cmsgpack.pack(ARGV[2]) }`,
  replyBytes: true,
  reply: (raw: BytesReply[]) => raw,
});

/** The same value in each layout of a reply: one string, arrays, a status, nil, an error. */
const shaped = defineScript({
  name: 'test.shaped-bytes',
  keys: ['value'],
  args: { shape: str, value: bytes },
  source: `
if ARGV[1] == 'one' then return ARGV[2] end
if ARGV[1] == 'pair' then return { ARGV[2], 7 } end
if ARGV[1] == 'array' then return { 1, ARGV[2], false } end
if ARGV[1] == 'status' then return redis.status_reply('FINE') end
if ARGV[1] == 'nil' then return nil end
if ARGV[1] == 'double' then return { double = 0.5 } end
return redis.error_reply('MYCODE ' .. ARGV[2])`,
  replyBytes: true,
  reply: (raw: BytesReply) => raw,
});

/** Takes bytes and returns text. */
const hex = defineScript({
  name: 'test.hex',
  keys: ['value'],
  args: { value: bytes },
  source: `return (string.gsub(ARGV[1], '.', function(c) return string.format('%02x', string.byte(c)) end))`,
  reply: (raw: string) => raw,
});

const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
/** As MessagePack writes a string. */
function packed(value: Buffer): Buffer {
  const { length } = value;
  const head = length < 32 ? [0xa0 + length] : length < 256 ? [0xd9, length] : [0xda, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), value]);
}

const clients: [name: string, open: () => Redis, grouping: boolean][] = [
  ['ioredis 6', () => standaloneClient(), true],
  ['ioredis 6, RESP2', () => standaloneClient({ protocol: 2 } as object), true],
  ['ioredis 6, grouping off', () => standaloneClient(), false],
  ['ioredis 5', () => quiet(new Redis5(sharedRedisUrl()) as unknown as Redis), true],
];

describe.each(clients)('bytes on %s', (_name, open, grouping) => {
  let client: Redis;
  let registry: ScriptRegistry;

  beforeAll(async () => {
    client = open();
    registry = await openRegistry(client, { prefix: uniquePrefix(), grouping }, [keep, shaped, hex]);
  });

  afterAll(() => {
    registry.close();
    client.disconnect();
  });

  const key = (name: string): string => registry.keySpace('test').tag('bytes').key('value', name);
  const store = (name: string, value: Uint8Array, more: Uint8Array[]) =>
    registry.run(keep, { keys: { value: key(name) }, args: { rule: 'rüle', value, more } });
  const kept = (value: Buffer, more: Buffer[]): unknown => {
    return [value, value.length, [value, more], Buffer.from('rüle'), packed(value)];
  };

  it('takes and returns every value of a byte, in lone calls and in groups', async () => {
    const values = [
      every,
      Buffer.alloc(0),
      Buffer.from([0x00, 0xff, 0xfe, 0x41]),
      Buffer.from('text'),
      every.subarray(128),
    ];
    for (const [i, value] of values.entries()) {
      expect(await store(`lone-${i}`, value, [every])).toEqual(kept(value, [every]));
    }
    const calls = Array.from({ length: size(20, 300) }, (_, i) => {
      const value = values[i % values.length] as Buffer;
      return { value, more: values.slice(0, i % 3) };
    });
    const answers = await Promise.all(calls.map(({ value, more }, i) => store(`group-${i}`, value, more)));
    expect(answers).toEqual(calls.map(({ value, more }) => kept(value, more)));
    expect(await client.getBuffer(key('group-0'))).toEqual(every);
  });

  it('returns bytes in every layout of a reply', async () => {
    const value = Buffer.from([0xff, 0x00, 0x80]);
    const run = (shape: string) => registry.run(shaped, { keys: { value: key('shape') }, args: { shape, value } });
    const expected: Record<string, unknown> = {
      one: value,
      pair: [value, 7],
      array: [1, value, null],
      status: Buffer.from('FINE'),
      nil: null,
      double: expect.any(Buffer),
    };
    const shapes = Object.keys(expected);
    for (const shape of shapes) expect(await run(shape)).toEqual(expected[shape]);
    await expect(run('error')).rejects.toThrow(/test\.shaped-bytes failed: MYCODE/);
    const mixed = await Promise.allSettled(Array.from({ length: 60 }, (_, i) => run(shapes[i % 7] ?? 'error')));
    for (const [i, answer] of mixed.entries()) {
      const shape = shapes[i % 7];
      if (shape === undefined) expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'SCRIPT_FAILED' } });
      else expect(answer).toEqual({ status: 'fulfilled', value: expected[shape] });
    }
  });

  it('copies bytes when the call is made, and takes any Uint8Array', async () => {
    const value = new Uint8Array([0, 255, 3]);
    const run = () => registry.run(hex, { keys: { value: key('hex') }, args: { value } });
    const first = run();
    const second = run();
    value.fill(7);
    expect(await Promise.all([first, second, run()])).toEqual(['00ff03', '00ff03', '070707']);
  });

  it('refuses what is not bytes', async () => {
    for (const value of ['text', 7, [1, 2], null, new Uint16Array(2), { length: 2 }]) {
      const call = registry.run(hex, { keys: { value: key('hex') }, args: { value: value as never } });
      await expect(call).rejects.toThrow(expect.objectContaining({ code: 'INVALID_CALL' }) as Error);
      await expect(call).rejects.toThrow(
        /^Argument "value" of the script \S+ is .* Expected a Buffer or another Uint8Array/,
      );
    }
  });
});
