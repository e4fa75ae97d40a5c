import { GROUPS, KEYS } from './random-arguments';

/** Returns commands that show all there is. */
export function dumpCommands(): string[][] {
  return [
    ['DBSIZE'],
    ['KEYS', '*'],
    ['ZRANGE', 'zset2', '0', '-1', 'WITHSCORES'],
    ...KEYS.flatMap((key) => [
      ['TYPE', key],
      ['PEXPIRETIME', key],
      ['GET', key],
      ['HGETALL', key],
      ['LRANGE', key, '0', '-1'],
      ['SMEMBERS', key],
      ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
      ['XRANGE', key, '-', '+'],
      ['XINFO', 'STREAM', key],
      ['XINFO', 'GROUPS', key],
      ...GROUPS.flatMap((group) => [
        ['XINFO', 'CONSUMERS', key, group],
        ['XPENDING', key, group, '-', '+', '100'],
      ]),
    ]),
  ];
}
