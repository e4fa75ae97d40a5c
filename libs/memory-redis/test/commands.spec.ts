import { LONG } from '../../../test/support/size';
import { MemoryRedis } from '../src';
import { openMemory } from './compare-lua';
import { compareServers } from './compare-servers';
import { realServer } from './real-server';

const COMMANDS = LONG ? 1_000_000 : 6_000;

const server = realServer();

it(`replies to ${COMMANDS} random commands as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { count, differences } = await compareServers(server.raw, COMMANDS, seed);
  expect({ seed, differences: differences.slice(0, 5) }).toEqual({ seed, differences: [] });
  expect(count).toBeGreaterThanOrEqual(COMMANDS);
}, 1_800_000);

const SORTED = [
  ['RPUSH', 'list', '2', '10', '1', '3'],
  ['MSET', 'weight_1', '9', 'weight_2', '-1', 'weight_10', '5', 'name_1', 'one', 'name_10', 'ten'],
  ['HSET', 'object_2', 'weight', '7', 'name', 'two'],
];

it.each([
  [
    'SORT list',
    'SORT list DESC',
    'SORT list ALPHA',
    'SORT list LIMIT 1 2',
    'SORT list LIMIT -1 1',
    'SORT list LIMIT 9 1',
  ],
  ['SORT list BY weight_*', 'SORT list BY weight_* DESC', 'SORT list BY weight_* ALPHA', 'SORT list BY none_*'],
  ['SORT list BY object_*->weight', 'SORT list BY nosort', 'SORT list BY nosort DESC', 'SORT list BY nosort LIMIT 1 1'],
  ['SORT list GET # GET name_*', 'SORT list GET object_*->name', 'SORT list GET object_*->', 'SORT list GET name'],
  ['SORT list BY weight_* GET name_* STORE out', 'LRANGE out 0 -1', 'SORT none STORE out', 'EXISTS out'],
  ['SORT weight_1', 'SORT list STORE', 'SORT_RO list STORE out', 'SORT list LIMIT 0', 'SORT list UP'],
  ['RPUSH list x', 'SORT list', 'SORT list ALPHA DESC', 'RPUSH list 1x', 'SORT list BY name_*'],
  [
    'SADD set b c a',
    'SORT set BY nosort STORE out',
    'LRANGE out 0 -1',
    'SORT set BY nosort DESC STORE out',
    'LRANGE out 0 -1',
  ],
  ['ZADD zset 3 a 1 b 2 c', 'SORT zset BY nosort', 'SORT zset BY nosort DESC LIMIT 0 2', 'SORT zset ALPHA'],
])('sorts as a Redis server does: %s', async (...commands) => {
  const memory = openMemory();
  const all = [...SORTED, ...commands.map((command) => command.split(' '))];
  const expected = await server.raw.send([['FLUSHALL'], ['HELLO', '2'], ...all]);
  expect(all.map((words) => memory.run(words))).toEqual(expected.slice(2));
});

const VALUES = [
  ['RPUSH', 'list', 'a', 'b', 'c'],
  ['ZADD', 'zset', '1', 'a', '2', 'b', '3', 'c'],
  ['HSET', 'hash', 'f', '1'],
  ['ZADD', 'one', '2.5', 'm'],
  ['SET', 'text', 'x'],
];

it.each([
  ['LMPOP 1 list LEFT', 'LMPOP 2 none list RIGHT COUNT 9', 'EXISTS list', 'LMPOP 2 none list LEFT'],
  ['LMPOP 0 list LEFT', 'LMPOP x list LEFT', 'LMPOP 1 list UP', 'LMPOP 1 list LEFT COUNT 0', 'LMPOP 1 list LEFT COUNT'],
  ['LMPOP 1 list LEFT SIZE 1', 'LMPOP 9 list LEFT', 'LMPOP 1 text LEFT', 'LMPOP 2 zset list LEFT', 'LMPOP 1 text UP'],
  ['LMPOP 1 list LEFT COUNT 1 COUNT 1', 'LMPOP 1 list LEFT COUNT x', 'LMPOP -1 list LEFT', 'LRANGE list 0 -1'],
  ['ZMPOP 1 zset MIN', 'ZMPOP 2 none zset MAX COUNT 9', 'EXISTS zset', 'ZMPOP 1 zset MIN', 'ZMPOP 1 text MIN'],
  ['ZMPOP 0 zset MIN', 'ZMPOP 1 zset LEFT', 'ZMPOP 1 zset MIN COUNT 0', 'ZMPOP 1 text LEFT', 'ZMPOP 2 list zset MIN'],
  ['HRANDFIELD hash', 'HRANDFIELD hash 2', 'HRANDFIELD hash -2', 'HRANDFIELD hash 1 WITHVALUES', 'HRANDFIELD hash 0'],
  ['HRANDFIELD none', 'HRANDFIELD none 1', 'HRANDFIELD none 1 WITHVALUES', 'HRANDFIELD text', 'HRANDFIELD hash x'],
  ['HRANDFIELD hash 1 WITHSCORES', 'HRANDFIELD hash 1 WITHVALUES x', 'HRANDFIELD hash 9223372036854775807 WITHVALUES'],
  ['ZRANDMEMBER one', 'ZRANDMEMBER one 2', 'ZRANDMEMBER one -2 WITHSCORES', 'ZRANDMEMBER one 0', 'ZRANDMEMBER none'],
  ['ZRANDMEMBER none 1', 'ZRANDMEMBER text', 'ZRANDMEMBER one 1 WITHVALUES', 'ZRANDMEMBER one x', 'ZRANDMEMBER text x'],
  [
    'OBJECT ENCODING text',
    'OBJECT ENCODING list',
    'OBJECT ENCODING zset',
    'OBJECT ENCODING hash',
    'OBJECT ENCODING none',
  ],
  [
    'SADD ints 1 2',
    'OBJECT ENCODING ints',
    'SADD ints x',
    'OBJECT ENCODING ints',
    'XADD log 1-1 f v',
    'OBJECT ENCODING log',
  ],
  ['SADD lone m', 'SRANDMEMBER lone -3', 'SRANDMEMBER none -3', 'SRANDMEMBER lone 2', 'SRANDMEMBER lone x'],
  [
    'SET type v',
    'SCAN 0 MATCH type COUNT 1000',
    'SCAN 0 COUNT 1000 TYPE string MATCH type',
    'SCAN 0 TYPE set MATCH type',
  ],
  ['MULTI', 'MULTI', 'WATCH text', 'SET text 1', 'EXEC', 'MULTI', 'NOSUCH', 'EXEC'],
  ['WATCH text', 'SET text 2', 'MULTI', 'NOSUCH', 'RESET', 'MULTI', 'GET text', 'EXEC'],
  [`SET text ${'x'.repeat(44)}`, 'OBJECT ENCODING text', `SET text ${'x'.repeat(45)}`, 'OBJECT ENCODING text'],
  [
    'SET text 42',
    'OBJECT ENCODING text',
    'SET text 042',
    'OBJECT ENCODING text',
    'OBJECT FREQ text',
    'OBJECT FREQ none',
  ],
  [`HSET hash g ${'x'.repeat(65)}`, 'OBJECT ENCODING hash', `ZADD zset 1 ${'x'.repeat(65)}`, 'OBJECT ENCODING zset'],
])('replies as a Redis server does: %s', async (...commands) => {
  for (const protocol of [2, 3] as const) {
    const memory = openMemory(protocol);
    const all = [...VALUES, ...commands.map((command) => command.split(' '))];
    const expected = await server.raw.send([['FLUSHALL'], ['HELLO', String(protocol)], ...all]);
    expect(all.map((words) => memory.run(words))).toEqual(expected.slice(2));
  }
});

it.each([
  ['HRANDFIELD', ['HSET'], '1'],
  ['ZRANDMEMBER', ['ZADD'], '1'],
  ['SRANDMEMBER', ['SADD'], ''],
])('%s chooses different items, or items again and again', (command, [add = ''], one) => {
  const redis = new MemoryRedis();
  for (let index = 0; index < 20; index++)
    redis.run(add, add === 'HSET' ? ['key', `m${index}`, one] : ['key', one, `m${index}`].filter(Boolean));
  const different = redis.run(command, ['key', 15]) as string[];
  expect(new Set(different).size).toBe(15);
  const repeated = redis.run(command, ['key', -200]) as string[];
  expect(repeated).toHaveLength(200);
  expect(new Set(repeated).size).toBeGreaterThan(10);
});
