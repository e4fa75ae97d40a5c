import { BOUNDS, RandomArguments, TEXT_BOUNDS, TIMES } from './random-arguments';
import { streamMakers } from './random-stream-commands';

/** Makes commands on a few keys, with values that are often wrong. */
export class RandomCommands extends RandomArguments {
  next(): string[] {
    const make = this.random.pick(this.makers);
    const words = make();
    if (this.random.chance(0.01)) words.push(this.value());
    if (this.random.chance(0.01) && words.length > 1) words.pop();
    if (this.random.chance(0.05)) words[0] = words[0]?.toLowerCase() ?? '';
    return this.random.chance(0.25) ? this.inScript(words) : words;
  }

  private readonly makers: readonly (() => string[])[] = [
    () => [
      'SET',
      this.key('str'),
      this.value(),
      ...this.some(['NX', 'XX', 'GET', 'KEEPTTL', 'PXAT 4102444800000', 'PX x', 'EX 0']),
    ],
    () => [this.pick('GET STRLEN GETDEL INCR DECR TYPE PERSIST PEXPIRETIME EXPIRETIME'), this.key('str')],
    () => [this.pick('INCRBY DECRBY'), this.key('str'), this.integer()],
    () => [this.pick('APPEND GETSET SETNX'), this.key('str'), this.value()],
    () => [
      this.pick('MSET MSETNX'),
      ...this.random.list(1, 3, () => this.key('str')).flatMap((key) => [key, this.value()]),
    ],
    () => [this.pick('MGET EXISTS DEL UNLINK TOUCH'), ...this.random.list(1, 3, () => this.key('str'))],
    () => ['SETRANGE', this.key('str'), this.pick('0 1 3 -1 x 10'), this.value()],
    () => [this.pick('GETRANGE SUBSTR'), this.key('str'), this.integer(), this.integer()],
    () => ['GETEX', this.key('str'), ...this.some(['PERSIST', 'PXAT 4102444800000', 'EX x'])],
    () => [this.pick('SETBIT'), this.key('str'), this.pick('0 7 20 -1 x'), this.pick('0 1 2')],
    () => ['GETBIT', this.key('str'), this.pick('0 7 20 -1 x')],
    () => ['BITCOUNT', this.key('str'), ...this.bitRange()],
    () => ['BITPOS', this.key('str'), this.pick('0 1 0 1 2 x'), ...this.bitRange()],
    () => [
      'BITOP',
      this.pick('AND OR XOR NOT and NOPE'),
      this.key('str2'),
      ...this.random.list(1, 3, () => this.key(this.random.pick(['str', 'str2', 'none']))),
    ],
    () => [
      this.pick('PEXPIREAT'),
      this.anyKey(),
      this.random.pick(TIMES),
      ...this.some(['NX', 'XX', 'GT', 'LT', 'QQ']),
    ],
    () => [this.pick('PEXPIRE EXPIRE'), this.anyKey(), this.pick('0 -1 x 9223372036854775807 -9223372036854775808')],
    () => [this.pick('RENAME RENAMENX'), this.anyKey(), this.anyKey()],
    () => ['COPY', this.anyKey(), this.anyKey(), ...this.some(['REPLACE'])],
    () => [this.pick('TYPE EXISTS DEL PERSIST PEXPIRETIME TTL'), this.random.pick(['none', 'str2', 'list2'])],
    () => ['HSET', this.key('hash'), ...this.random.list(1, 3, () => [this.field(), this.value()]).flat()],
    () => [this.pick('HGET HEXISTS HSTRLEN'), this.key('hash'), this.field()],
    () => [this.pick('HMGET HDEL'), this.key('hash'), ...this.random.list(1, 3, () => this.field())],
    () => [this.pick('HGETALL HKEYS HVALS HLEN'), this.key('hash')],
    () => ['HINCRBY', this.key('hash'), this.field(), this.integer()],
    () => ['HSETNX', this.key('hash'), this.field(), this.value()],
    () => ['HMSET', this.key('hash'), this.field(), this.value()],
    () => ['HSCAN', this.key('hash'), this.pick('0 0 0 x -1'), ...this.some(['COUNT 10', 'MATCH f*', 'COUNT 0', 'QQ'])],
    () => [this.pick('LPUSH RPUSH LPUSHX RPUSHX'), this.key('list'), ...this.random.list(1, 4, () => this.value())],
    () => [this.pick('LPOP RPOP'), this.key('list'), ...(this.random.chance(0.4) ? [this.integer()] : [])],
    () => [
      'LMPOP',
      '2',
      this.key('list'),
      this.key('list'),
      this.pick('LEFT RIGHT'),
      ...(this.random.chance(0.4) ? ['COUNT', this.integer()] : []),
    ],
    () => ['LLEN', this.key('list')],
    () => ['LINDEX', this.key('list'), this.integer()],
    () => [this.pick('LRANGE LTRIM'), this.key('list'), this.integer(), this.integer()],
    () => ['LSET', this.key('list'), this.integer(), this.value()],
    () => ['LREM', this.key('list'), this.integer(), this.value()],
    () => ['LINSERT', this.key('list'), this.pick('BEFORE AFTER after X'), this.value(), this.value()],
    () => [
      'LPOS',
      this.key('list'),
      this.value(),
      ...this.some(['RANK 1', 'RANK -1', 'COUNT 0', 'MAXLEN 2', 'RANK 0', 'COUNT -1']),
    ],
    () => ['LMOVE', this.key('list'), this.key('list2'), this.pick('LEFT RIGHT x'), this.pick('LEFT RIGHT')],
    () => ['RPOPLPUSH', this.key('list'), this.key('list2')],
    () => [this.pick('SADD SREM SMISMEMBER'), this.key('set'), ...this.random.list(1, 3, () => this.value())],
    () => [this.pick('SCARD SMEMBERS'), this.key('set')],
    () => ['SISMEMBER', this.key('set'), this.value()],
    () => ['SMOVE', this.key('set'), this.key('set2'), this.value()],
    () => [
      this.pick('SUNION SINTER SDIFF'),
      ...this.random.list(1, 2, () => this.key(this.random.pick(['set', 'set2']))),
    ],
    () => [
      this.pick('SUNIONSTORE SINTERSTORE SDIFFSTORE'),
      this.key('set2'),
      ...this.random.list(1, 2, () => this.key(this.random.pick(['set', 'set2']))),
    ],
    () => [
      'SINTERCARD',
      this.pick('1 2 2 0 3 x'),
      'set',
      this.key('set2'),
      ...this.some(['LIMIT 1', 'LIMIT -1', 'QQ']),
    ],
    () => this.zcombine(),
    () => this.zcombine(),
    () => this.sort(),
    () => this.sort(),
    () => this.zadd(),
    () => ['ZINCRBY', this.key('zset'), this.float(), this.value()],
    () => [this.pick('ZSCORE ZRANK ZREVRANK'), this.key('zset'), this.value()],
    () => [this.pick('ZREM ZMSCORE'), this.key('zset'), ...this.random.list(1, 3, () => this.value())],
    () => ['ZCARD', this.key('zset')],
    () => [this.pick('ZCOUNT ZREMRANGEBYSCORE'), this.key('zset'), this.random.pick(BOUNDS), this.random.pick(BOUNDS)],
    () => [
      this.pick('ZLEXCOUNT ZREMRANGEBYLEX'),
      this.key('zset'),
      this.random.pick(TEXT_BOUNDS),
      this.random.pick(TEXT_BOUNDS),
    ],
    () => ['ZREMRANGEBYRANK', this.key('zset'), this.integer(), this.integer()],
    () => [this.pick('ZPOPMIN ZPOPMAX'), this.key('zset'), ...(this.random.chance(0.5) ? [this.integer()] : [])],
    () => [
      'ZMPOP',
      '2',
      this.key('zset'),
      this.key('zset'),
      this.pick('MIN MAX'),
      ...(this.random.chance(0.4) ? ['COUNT', this.integer()] : []),
    ],
    () => [this.pick('ZRANGE ZREVRANGE'), this.key('zset'), this.integer(), this.integer(), ...this.rangeOptions()],
    () => [
      'ZRANGE',
      this.key('zset'),
      this.random.pick(BOUNDS),
      this.random.pick(BOUNDS),
      'BYSCORE',
      ...this.rangeOptions(),
    ],
    () => [
      'ZRANGE',
      this.key('zset'),
      this.random.pick(TEXT_BOUNDS),
      this.random.pick(TEXT_BOUNDS),
      'BYLEX',
      ...this.rangeOptions(),
    ],
    () => [
      this.pick('ZRANGEBYSCORE ZREVRANGEBYSCORE'),
      this.key('zset'),
      this.random.pick(BOUNDS),
      this.random.pick(BOUNDS),
      ...this.rangeOptions(),
    ],
    () => [
      this.pick('ZRANGEBYLEX ZREVRANGEBYLEX'),
      this.key('zset'),
      this.random.pick(TEXT_BOUNDS),
      this.random.pick(TEXT_BOUNDS),
      ...this.rangeOptions(),
    ],
    ...streamMakers(this),
    ...streamMakers(this),
    () => [this.pick('SPUBLISH PUBLISH'), 'channel', this.value()],
    () => [this.pick('ECHO PING'), this.value()],
    () => [this.pick('NOPE XGROUP XINFO SCRIPT'), this.value(), this.value()],
    () => ['SELECT', this.pick('0 x')],
    () => ['WAIT', '0', '0'],
  ];

  /** A script that calls the command. */
  private inScript(words: readonly string[]): string[] {
    const scripts = [
      'return redis.call(unpack(ARGV))',
      'return redis.pcall(unpack(ARGV))',
      'local r = redis.pcall(unpack(ARGV)) if type(r) == "table" then if r.err then return "E" .. r.err end if r.ok then return "O" .. r.ok end return {#r, r} end return type(r) .. tostring(r)',
      'local ok, r = pcall(redis.call, unpack(ARGV)) return {tostring(ok), r}',
      'for i = 1, #ARGV do local n = tonumber(ARGV[i]) if n and n == n then ARGV[i] = n end end return redis.call(unpack(ARGV))',
      '#!lua flags=no-writes\nreturn redis.call(unpack(ARGV))',
    ];
    return [this.pick('EVAL EVAL EVAL EVAL_RO'), this.random.pick(scripts), '0', ...words];
  }

  private zadd(): string[] {
    const options = this.some(['NX', 'XX', 'GT', 'LT', 'CH', 'INCR']);
    const pairs = this.random.list(1, options.includes('INCR') ? 1 : 3, () => [this.float(), this.value()]);
    return ['ZADD', this.key('zset'), ...options, ...pairs.flat()];
  }

  private zcombine(): string[] {
    const [command, keys] = [
      this.pick('ZUNION ZINTER ZDIFF ZUNIONSTORE ZINTERSTORE ZDIFFSTORE ZINTERCARD'),
      // With more, infinite scores depend on the order in which Redis adds them.
      this.random.list(1, 2, () => this.key(this.random.pick(['zset', 'zset', 'zset2', 'set']))),
    ];
    const count = this.random.chance(0.95) ? String(keys.length) : this.integer();
    const weights = keys.map(() => (this.random.chance(0.95) ? this.pick('1 2 -1 3') : 'x'));
    return [
      command,
      // A key of its own: after SORT Redis keeps it as a large set, in which BYLEX and -0 differ.
      ...(command.endsWith('STORE') ? ['zset2'] : []),
      count,
      ...keys,
      ...this.some([
        `WEIGHTS ${weights.join(' ')}`,
        'AGGREGATE MIN',
        'AGGREGATE max',
        'WITHSCORES',
        'LIMIT 1',
        'AGGREGATE X',
        'QQ',
      ]),
    ];
  }

  private sort(): string[] {
    const options = [
      'ALPHA',
      'ALPHA',
      'DESC',
      'ASC',
      'LIMIT 0 2',
      'LIMIT 1 -1',
      'LIMIT -1 5',
      'LIMIT x 1',
      'STORE list2',
      'GET #',
      'GET nope*',
      'GET hash->f',
      'GET has*->f',
      'BY nosort',
      'QQ',
    ];
    const key = this.random.pick(['list', 'list', 'set', 'zset2', 'zset2', 'list2', 'none', 'hash']);
    const words = [this.pick('SORT SORT SORT_RO'), key, ...this.some(options), ...this.some(options)];
    // Where Redis has the order of a hash table, all elements are compared, in any order.
    if (words.includes('LIMIT') || words.includes('list2'))
      return words.filter((word) => word !== 'nosort' && word !== 'BY');
    return key === 'zset2' || key === 'set' ? words.filter((word) => word !== 'ALPHA') : words;
  }

  private bitRange(): string[] {
    if (this.random.chance(0.3)) return [];
    return [this.integer(), this.integer(), ...this.some(['BIT', 'BYTE', 'bit', 'QQ'])].slice(
      0,
      1 + this.random.below(4),
    );
  }

  private rangeOptions(): string[] {
    return this.some(['WITHSCORES', 'LIMIT 0 2', 'LIMIT 1 -1', 'LIMIT -1 1', 'REV', 'LIMIT 0 x', 'QQ']);
  }
}
