import { LONG } from '../../../test/support/size';
import { openMemory } from './compare-lua';
import { compareServers } from './compare-servers';
import { realServer } from './real-server';

const COMMANDS = LONG ? 1_000_000 : 20_000;

const server = realServer();

it(`replies to ${COMMANDS} random commands as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { count, differences } = await compareServers(server.raw, COMMANDS, seed);
  expect({ seed, differences: differences.slice(0, 5) }).toEqual({ seed, differences: [] });
  expect(count).toBeGreaterThanOrEqual(COMMANDS);
}, 600_000);

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
