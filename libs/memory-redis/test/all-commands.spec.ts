import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { MemoryRedis } from '../src';

/** Name, smallest number of words, and whether scripts may call it. */
interface Known {
  readonly words: readonly string[];
  readonly inScripts: boolean;
}

type Row = [name: string, arity: number, flags: string[], ...rest: unknown[], subcommands: Row[]];

const NOT_SUPPORTED =
  /^ERR MemoryRedis does not support [A-Z _-]+\. Test this code with a server of luanest\/testing\/servers$/;

let server: RedisServer;
let known: Known[];

beforeAll(async () => {
  server = await startRedis();
  const client = new Redis({ port: server.port, protocol: 2 } as object);
  const rows = (await client.call('COMMAND')) as Row[];
  client.disconnect();
  known = rows
    .flatMap((row) => ((row[9] as Row[] | undefined)?.length ? (row[9] as Row[]) : [row]))
    .map(([name, arity, flags]) => {
      const words = name.split('|');
      // The arity of a subcommand counts both its words.
      while (words.length < Math.abs(arity)) words.push('1');
      return { words, inScripts: !flags.includes('noscript') };
    });
});
afterAll(() => server.stop());

function replyOf(run: () => unknown): string {
  try {
    return JSON.stringify(run());
  } catch (error) {
    return (error as Error).message;
  }
}

it('knows every command of Redis 7.0: what it does not support is refused with a sentence', () => {
  expect(known.length).toBeGreaterThan(350);
  const unknown = known
    .map(({ words: [name = '', ...args] }) => `${name} ${args[0]}: ${replyOf(() => new MemoryRedis().run(name, args))}`)
    .filter((line) => /unknown (?:sub)?command/i.test(line));
  expect(unknown).toEqual([]);
});

it('refuses the same commands in scripts as Redis', () => {
  const script = 'return redis.pcall(unpack(ARGV))';
  const reply = ({ words }: Known) => replyOf(() => new MemoryRedis().run('EVAL', [script, 0, ...words]));
  const refused = known.filter((command) => reply(command).includes('This Redis command is not allowed from script'));
  expect(refused.map(({ words }) => words.join(' '))).toEqual(
    known.filter(({ inScripts }) => !inScripts).map(({ words }) => words.join(' ')),
  );
  expect(known.map(reply).filter((text) => text.includes('Unknown Redis command'))).toEqual([]);
});

it('names what it does not support, from clients and from scripts', () => {
  const redis = new MemoryRedis();
  for (const [name, ...args] of [
    ['PFADD', 'a', 'b'],
    ['OBJECT', 'IDLETIME', 'a'],
    ['geoadd', 'a', '1', '1', 'x'],
    ['CLIENT', 'KILL', '127.0.0.1:1'],
    ['BLPOP', 'a', '0'],
  ] as [string, ...string[]][]) {
    expect(replyOf(() => redis.run(name, args))).toMatch(NOT_SUPPORTED);
  }
  expect(replyOf(() => redis.run('EVAL', ["return redis.call('PFADD', 'a', 'b')", 0]))).toContain(
    'ERR MemoryRedis does not support PFADD. ',
  );
  expect(replyOf(() => redis.run('EVAL', ["return redis.call('blpop', 'a', 0)", 0]))).toContain(
    'ERR This Redis command is not allowed from script',
  );
});

it('refuses what it does not support with a wrong number of arguments as Redis does', () => {
  expect(replyOf(() => new MemoryRedis().run('PFMERGE'))).toBe("ERR wrong number of arguments for 'pfmerge' command");
});
