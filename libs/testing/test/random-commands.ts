import type { Random } from './random';

const KEYS = ['str', 'str2', 'hash', 'list', 'list2', 'set', 'set2', 'zset', 'stream', 'stream2', 'none'] as const;
const VALUES = [
  '',
  'a',
  'b',
  'c',
  '1',
  '-5',
  '10',
  '3.5',
  'x y',
  '\r\n',
  '\0\xff',
  'é',
  'abc',
  '007',
  '9223372036854775807',
];
const FIELDS = ['', 'f', 'g', 'h', '1', '2', '-7', '\xff'];
const INTEGERS = ['0', '1', '-1', '2', '3', '-3', '5', '10', '100', '-100', '1.5', 'x', '', ' 1', '+1', '01', '-0'];
const HUGE = ['9223372036854775807', '-9223372036854775808', '9223372036854775808', '99999999999999999999', '1e3'];
const FLOATS = [
  '0',
  '1',
  '-1',
  '1.5',
  '2',
  '3',
  '0.1',
  'inf',
  '-inf',
  '+inf',
  'nan',
  '1e3',
  '-0',
  '0x10',
  'x',
  '',
  ' 1',
  '1 ',
];
const BOUNDS = ['-inf', '+inf', '0', '1', '(1', '2', '(2', '1.5', '(x', 'x', '(', ''];
const TEXT_BOUNDS = ['-', '+', '[a', '(a', '[b', '(c', '[', 'a', ''];
const GROUPS = ['g1', 'g2', 'nogroup'];
const CONSUMERS = ['c1', 'c2', 'C3'];
/** Far ahead, so that the two clocks need not agree. */
const TIMES = ['4102444800000', '4102444800001', '5102444800000', '1', '0', '-1', 'x', '9223372036854775807'];

/** Makes commands on a few keys, with values that are often wrong. */
export class RandomCommands {
  constructor(private readonly random: Random) {}

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
    ...this.streamMakers(),
    ...this.streamMakers(),
    () => [this.pick('SPUBLISH PUBLISH'), 'channel', this.value()],
    () => [this.pick('ECHO PING'), this.value()],
    () => [this.pick('NOPE XGROUP XINFO SCRIPT'), this.value(), this.value()],
    () => ['SELECT', this.pick('0 x')],
    () => ['WAIT', '0', '0'],
  ];

  private streamMakers(): (() => string[])[] {
    return [
      () => [
        'XADD',
        this.key('stream'),
        ...this.some(['NOMKSTREAM', 'MAXLEN 3', 'MAXLEN = 2', 'MINID 3', 'MAXLEN x', 'LIMIT 1']),
        this.newId(),
        'f',
        this.value(),
        ...(this.random.chance(0.1) ? ['odd'] : []),
      ],
      () => ['XADD', this.key('stream'), this.pick('1-* 3-* 5-* 7-* 9-* 20-* 30-*'), 'f', this.value()],
      () => ['XLEN', this.key('stream')],
      () => ['XDEL', this.key('stream'), ...this.random.list(1, 2, () => this.id())],
      () => [
        this.pick('XRANGE XREVRANGE'),
        this.key('stream'),
        this.bound(),
        this.bound(),
        ...this.some(['COUNT 1', 'COUNT 0', 'COUNT -1', 'COUNT x']),
      ],
      () => [
        'XTRIM',
        this.key('stream'),
        ...this.random.pick([
          ['MAXLEN', '2'],
          ['MINID', '4'],
          ['MAXLEN', '=', '3'],
          ['MAXLEN', '-1'],
          ['MAXLEN'],
          ['QQ', '1'],
        ]),
      ],
      () => [
        'XGROUP',
        'CREATE',
        this.key('stream'),
        this.group(),
        this.pick('$ 0 3 5-1 x'),
        ...this.some(['MKSTREAM', 'ENTRIESREAD 2', 'ENTRIESREAD -2', 'QQ']),
      ],
      () => [
        'XGROUP',
        'SETID',
        this.key('stream'),
        this.group(),
        this.pick('$ 0 3 5-1 x'),
        ...this.some(['ENTRIESREAD 2']),
      ],
      () => ['XGROUP', this.pick('CREATECONSUMER DELCONSUMER'), this.key('stream'), this.group(), this.consumer()],
      () => (this.random.chance(0.2) ? ['XGROUP', 'DESTROY', this.key('stream'), this.group()] : ['PING']),
      () => [
        'XREADGROUP',
        'GROUP',
        this.group(),
        this.consumer(),
        ...this.some(['COUNT 1', 'COUNT 2', 'NOACK', 'COUNT 0', 'QQ']),
        'STREAMS',
        this.key('stream'),
        this.pick('> > > > 0 3 $ x'),
      ],
      () => [
        'XREADGROUP',
        'GROUP',
        this.group(),
        this.consumer(),
        'STREAMS',
        this.key('stream'),
        this.key('stream2'),
        '>',
        '>',
      ],
      () => [
        'XREAD',
        ...this.some(['COUNT 1', 'COUNT 2', 'NOACK']),
        'STREAMS',
        this.key('stream'),
        this.pick('0 3 $ > x'),
      ],
      () => ['XACK', this.key('stream'), this.group(), ...this.random.list(1, 3, () => this.id())],
      () => ['XPENDING', this.key('stream'), this.group()],
      () => [
        'XPENDING',
        this.key('stream'),
        this.group(),
        ...this.some(['IDLE 0', 'IDLE 99999999', 'IDLE x']),
        this.bound(),
        this.bound(),
        this.pick('10 1 0 -1 x'),
        ...(this.random.chance(0.4) ? [this.consumer()] : []),
      ],
      () => [
        'XCLAIM',
        this.key('stream'),
        this.group(),
        this.consumer(),
        this.pick('0 0 99999999 -1 x'),
        ...this.random.list(1, 2, () => this.id()),
        ...this.some(['JUSTID', 'FORCE', 'RETRYCOUNT 7', 'IDLE 0', 'TIME 1', 'LASTID 9', 'QQ', 'IDLE x']),
      ],
      () => [
        'XAUTOCLAIM',
        this.key('stream'),
        this.group(),
        this.consumer(),
        this.pick('0 0 99999999 x'),
        this.bound(),
        ...this.some(['COUNT 1', 'COUNT 2', 'JUSTID', 'COUNT 0', 'QQ']),
      ],
      () => ['XINFO', this.pick('STREAM GROUPS'), this.key('stream')],
      () => ['XINFO', 'CONSUMERS', this.key('stream'), this.group()],
    ];
  }

  /** Returns commands that show all there is. */
  static dump(): string[][] {
    return [
      ['DBSIZE'],
      ['KEYS', '*'],
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

  private rangeOptions(): string[] {
    return this.some(['WITHSCORES', 'LIMIT 0 2', 'LIMIT 1 -1', 'LIMIT -1 1', 'REV', 'LIMIT 0 x', 'QQ']);
  }

  /** Picks a few options. An option may have several words. */
  private some(options: readonly string[]): string[] {
    return this.random
      .list(0, this.random.pick([0, 0, 1, 1, 2]), () => this.random.pick(options))
      .flatMap((one) => one.split(' '));
  }

  private pick(words: string): string {
    return this.random.pick(words.split(' '));
  }

  private key(key: string): string {
    return this.random.chance(0.93) ? key : this.random.pick(KEYS);
  }

  private anyKey(): string {
    return this.random.pick(KEYS);
  }

  private value(): string {
    return this.random.pick(VALUES);
  }

  private field(): string {
    return this.random.pick(FIELDS);
  }

  private integer(): string {
    return this.random.pick(this.random.chance(0.1) ? HUGE : INTEGERS);
  }

  private float(): string {
    return this.random.pick(this.random.chance(0.1) ? HUGE : FLOATS);
  }

  private id(): string {
    return this.random.chance(0.95)
      ? `${this.random.below(12)}-${this.random.below(3)}`
      : this.pick('x 1-x - + $ 5 007');
  }

  private newId(): string {
    const known = `${this.random.below(12)}-${this.random.below(3)}`;
    return this.random.chance(0.95)
      ? known
      : this.pick('0-0 x 5 18446744073709551615-18446744073709551615 18446744073709551616 -');
  }

  private bound(): string {
    return this.random.chance(0.4) ? this.pick('- +') : `${this.pick('( ( [').replace('[', '')}${this.id()}`;
  }

  private group(): string {
    return this.random.chance(0.95) ? this.random.pick(['g1', 'g1', 'g2']) : 'nogroup';
  }

  private consumer(): string {
    return this.random.pick(CONSUMERS);
  }
}
