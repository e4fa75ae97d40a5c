import { Random } from './random';

/** Arguments of a call: ARGV[1] is text or bytes, ARGV[2] an integer, ARGV[3] text that calls mostly have in common. */
export interface FuzzCall {
  /** Index of the keys that it uses; calls with the same index meet the same data. */
  readonly subject: number;
  readonly value: Buffer;
  readonly count: number;
  readonly rule: string;
}

/** A random script and its calls. The parts of its Lua are lists, so that a failing one can be made smaller. */
export interface FuzzProgram {
  /** Lua above `-- @call`. */
  readonly shared: readonly string[];
  readonly body: readonly string[];
  /** True if it has other Lua for groups, which writes the sum of its calls in a section `-- @finish`. */
  readonly finishes: boolean;
  /** True if `reply` gets bytes. */
  readonly replyBytes: boolean;
  /** True if the script declares lists. */
  readonly lists: boolean;
  readonly calls: readonly FuzzCall[];
}

/** The lines that count the calls of a program that finishes: in its source, and in its Lua for groups. */
export const COUNT = "redis.call('INCRBY', KEYS[2], 1)";
export const COUNT_IN_GROUP = 'pending[KEYS[1]] = (pending[KEYS[1]] or 0) + 1';
export const PENDING = 'local pending = {}';

/** Last section of a program that finishes, which writes the numbers that its calls put into `pending`. */
export const FINISH = `local n = pending[KEYS[1]]
if n then
  pending[KEYS[1]] = nil
  redis.call('INCRBY', KEYS[2], n)
end`;

const NAMES = ['a', 'b', 'c', 'd'];
const SHADOWED = [
  'table',
  'string',
  'tostring',
  'tonumber',
  'type',
  'pcall',
  'unpack',
  'next',
  'rawget',
  'math',
  'error',
];
const NUMBERS = ['0', '1', '-1', '7', '3.7', '-0.5', '9007199254740993', '2^53 + 2', '-2^53', '1e15', '0x1F', '2^40'];
const TEXTS = [
  "'x'",
  "''",
  "'KEYS[1] -- no comment'",
  '"7"',
  '[=[long ARGV[2]]=]',
  "'\\255\\0\\254'",
  "'a b'",
  "'10'",
  "'x\\\r\n return ARGV '",
];

/** Writes one random script. */
class Writer {
  /**
   * @param several true if a `return` may have several values, of which Redis returns the first
   */
  constructor(
    private readonly random: Random,
    private readonly several: boolean,
  ) {}

  number(depth = 0): string {
    const { random } = this;
    const simple = [
      () => random.pick(NUMBERS),
      () => 'tonumber(ARGV[2])',
      () => '(ARGV[2] + 1)',
      () => `#${this.text(2)}`,
      () => random.pick(NAMES),
    ];
    if (depth > 1) return random.pick(simple)();
    return random.pick([
      ...simple,
      () => `(${this.number(depth + 1)} ${random.pick(['+', '-', '*', '%'])} ${this.number(depth + 1)})`,
      () => `math.floor(${this.number(depth + 1)})`,
      () => `redis.call('INCR', ${this.key()})`,
      () => `redis.call('STRLEN', ${this.key()})`,
      () => `redis.call('RPUSH', ${this.key()}, ${this.text(2)})`,
    ])();
  }

  key(): string {
    return this.random.pick(['KEYS[1]', 'KEYS[1]', 'KEYS[ 1 ]', "KEYS[1] .. ':x'"]);
  }

  text(depth = 0): string {
    const { random } = this;
    const simple = [() => random.pick(TEXTS), () => 'ARGV[1]', () => 'ARGV[3]', () => 'KEYS[1]', () => 'ARGV[ 2 ]'];
    if (depth > 1) return random.pick(simple)();
    return random.pick([
      ...simple,
      () => `(${this.text(depth + 1)} .. ${this.text(depth + 1)})`,
      () => `tostring(${random.pick([...NUMBERS, 'ARGV[2] + 1', 'nil', 'true'])})`,
      () => `string.sub(${this.text(depth + 1)}, 1, 3)`,
      () => `string.format('%d', ${this.number(depth + 1)})`,
      () => `type(${this.any(depth + 1)})`,
      // Cut, because a loop that appends a key's value to the key doubles it each time: 32 rounds make half a gigabyte.
      () => `(redis.call('GET', ${this.key()}) or 'none'):sub(1, 99)`,
    ])();
  }

  any(depth = 0): string {
    const { random } = this;
    return random.pick([
      () => this.number(depth),
      () => this.text(depth),
      () => random.pick(NAMES),
      () => random.pick(['nil', 'false', 'true']),
      ...(depth > 1 ? [] : [() => this.table(depth + 1)]),
    ])();
  }

  table(depth = 0): string {
    const { random } = this;
    const items = Array.from({ length: random.int(5) }, () => this.any(depth + 1));
    return `{ ${items.join(', ')} }`;
  }

  /** Tables that Redis turns into something other than an array. */
  special(): string {
    const { random } = this;
    const part = random.chance(0.4) ? `${this.number()}, ` : '';
    return random.pick([
      () => `redis.status_reply(${random.pick(["'FINE'", "'a\\r\\nb'"])})`,
      () => `redis.error_reply('MYCODE ' .. ${this.text(2)})`,
      () => `{ ${part}err = ${random.pick(["'MYCODE x'", "'no code'", "'two\\nlines'", '5'])} }`,
      () => `{ ${part}ok = ${random.pick(["'FINE'", '5'])} }`,
      () => `{ ${part}double = ${random.pick(['1.5', '0.1', "'x'"])} }`,
      () => `{ ${part}map = { a = ${this.any(1)} } }`,
      () => `{ ${part}set = { a = true } }`,
      () => `{ ${part}big_number = '123456789012345678901234567890' }`,
      () => `{ ${part}verbatim_string = { format = 'txt', string = 'words' } }`,
      () => `{ 1, ${this.number()}, { err = 'NESTED x' } }`,
      () => `redis.pcall('HGET', ${this.key()}, 'f')`,
    ])();
  }

  /** Calls of `redis.error_reply`, with and without a code and a text that are written out. */
  errorReply(): string {
    return this.random.pick([
      () => "redis.error_reply('MYCODE all is written out')",
      () => `redis.error_reply('MYCODE ' .. ${this.text(2)})`,
      () => `redis.error_reply(${this.text(1)})`,
      () =>
        `redis.error_reply("${this.random.pick(['READONLY x', 'NOSCRIPT No matching script', 'MOVED on', 'ERR', 'e'])}")`,
      () =>
        `redis.error_reply(${this.random.pick(["'-CODE x'", "'two\\nlines'", "'MYCODE a\\0b'", "'a', 'b'", '5', '', 'nil'])})`,
    ])();
  }

  /** Numbers, tables and errors that are written out. */
  plainValues(): string {
    const { random } = this;
    return random.pick([
      () => random.pick(['0', '1', '-1', '3.7', '-0.5', '0x1F', 'nil', 'false', 'true', '']),
      () => this.table(),
      () => `{ 1, ${this.number()}, ${this.text()} }`,
      () => `{ ${this.number()}; ${this.text()}, -- } a comment, and an 'end\n${this.any(1)} }`,
      () => `{ ${this.text()} == ${this.text()}, ${this.any(1)} ~= nil, ARGV[2] <= '3', { err = 'NESTED x' } }`,
      () => `{ ${this.special()}, 2 }`,
      () => `{ (function() local x = 1 return { err = 'NESTED ' .. x } end)(), ${this.any(1)} }`,
      () => this.errorReply(),
    ])();
  }

  /** Values of any kind. */
  values(): string {
    const { random } = this;
    return random.pick([
      () => this.any(),
      () => this.number(),
      () => this.plainValues(),
      () => this.special(),
      () => `{ 1, ${random.pick(['nil', 'tonumber(redis.call("GET", KEYS[1] .. ":none") or "")'])}, 3 }`,
      () =>
        `{ ${random.pick(['err', '["err"]', "['e' .. 'rr']"])} = ${random.pick(["'MYCODE x'", '5'])}, ${this.number()} }`,
      () => `${this.errorReply()}${random.pick(['.err', ' or 1', ' and nil'])}`,
      () => `${random.pick(['redis.pcall', 'tostring', '(function(x) return x end)'])}(${this.text(1)})`,
      () => `(pcall(error, ${this.errorReply()}))`,
      () => `(function(x) if x > '3' then error('two levels', 2) end return x end)(ARGV[2])`,
      () => '_G',
      () => `redis.call('SET', ${this.key()}, 'x')`,
      () => `{ '${random.pick(['QUEUED', 'e', 'n', '.', 'v'])}', ${this.any(1)} }`,
      () => `string.rep(${this.text(2)}, ${random.pick(['0', '3', '20000'])})`,
      () => `{ ${random.pick(['nil, 1', '1, nil', 'nil', 'false, nil, 2'])} }`,
      () => `(${this.table()})[1]`,
      () => `function() end`,
    ])();
  }

  /** A `return`, such as at the end of the script. */
  result(): string {
    const { random } = this;
    const end = random.chance(0.1) ? ';' : '';
    if (this.several && random.chance(0.6)) {
      const more = Array.from({ length: 1 + random.int(4) }, () => this.any(1));
      if (random.chance(0.2)) more.push(`(function() return ${this.any(1)}, ${this.any(1)} end)()`);
      return `return ${[random.chance(0.5) ? this.number() : this.any(1), ...more].join(', ')}${end}`;
    }
    return `return ${this.values()}${end}`;
  }

  /** A `return` before the end of the script. */
  early(): string {
    const { random } = this;
    return random.pick([
      () => `if ARGV[2] ${random.pick(['> "4"', '== "3"', '~= ""'])} then ${this.result()} end`,
      () =>
        `if ARGV[2] == '1' then ${this.result()} elseif ARGV[2] == '2' then ${this.result()} else ${this.usual()} end`,
      () => `for i = 1, 3 do if i == tonumber(ARGV[2]) then ${this.result()} end end`,
      () => `for k, v in pairs({ ${this.any(1)} }) do ${this.result()} end`,
      () => `while ARGV[2] == '2' do ${this.result()} end`,
      () => `repeat if ARGV[2] == '1' then ${this.result()} end until true`,
      () => `local function inner() ${this.result()} end local ${random.pick(NAMES)} = inner()`,
      () =>
        `local inner = { f = function() if ARGV[2] > '3' then ${this.result()} end return { err = 'MYCODE x' } end }`,
      () => `do local b, reply = 7, 8 if ARGV[2] < '2' then ${this.result()} end end`,
    ])();
  }

  /** Usual Lua, which cannot affect other calls of a group. */
  usual(): string {
    const { random } = this;
    return random.pick([
      () => `local ${random.pick(NAMES)} = ${this.any()}`,
      () => `local ${random.pick(NAMES)}, ${random.pick(NAMES)} = ${this.any()}, ${this.text()}`,
      () => `if ${this.text()} ${random.pick(['==', '~=', '<'])} ${this.text()} then ${this.usual()} end`,
      () => `for i = 1, 2 do ${this.usual()} end`,
      () => `redis.call('SET', ${this.key()}, ${this.text()})`,
      () => `redis.call('SET', ${this.key()}, ARGV[2], 'PX', 1000000000 + ARGV[2] * 10000000)`,
      () => `redis.call('APPEND', ${this.key()}, ${this.text()})`,
      () => `redis.call('HSET', ${this.key()} .. ':h', ${this.text()}, ${this.text()})`,
      () => `redis.call('RPUSH', ${this.key()} .. ':l', ${this.text()}, ${this.number(2)})`,
      () => `local ok, ${random.pick(NAMES)} = pcall(redis.call, 'INCR', ${this.key()})`,
      () => `local ok, ${random.pick(NAMES)} = pcall(function() ${this.usual()}\nerror('caught') end)`,
      () => `local ok, ${random.pick(NAMES)} = pcall(error, ${this.text()})`,
      () => `-- KEYS[1] = 'in a comment'\nlocal ${random.pick(NAMES)} = cjson.encode({ ${this.number(2)} })`,
      () => `local function f(x) return x, ${this.any(1)} end local ${random.pick(NAMES)} = f(${this.any(1)})`,
    ])();
  }

  failing(): string {
    const { random } = this;
    const failure = random.pick([
      "error('boom')",
      "error('CODE boom', 0)",
      "error('two levels', 2)",
      "error({ err = 'MYCODE table' })",
      'error()',
      'local z z.field = 1',
      'local z = {} + 1',
      "redis.call('HGET', KEYS[1])",
      "redis.call('LPUSH', KEYS[1], 'x') redis.call('GET', KEYS[1])",
      'undeclared = 1',
      'local z = undeclared',
      "error(ARGV[1] .. '\\nmore')",
      'error(true)',
      "error({ err = 'no code' })",
      "error(redis.error_reply('OOM own'))",
      "error(redis.pcall('HGET', KEYS[1]))",
      "local ok, e = pcall(redis.call, 'HGET', KEYS[1]) error(e)",
      'local function f() return 1 + f() end f()',
      'return redis.error_reply("TRYAGAIN later")',
    ]);
    return `if ARGV[2] ${random.pick(['> "4"', '== "3"', '~= ""'])} then ${failure} end`;
  }

  /** Lua that would affect other calls of a group if the calls were not isolated. */
  reaching(): string {
    const { random } = this;
    const name = random.pick(NAMES);
    const parameter = random.pick(['ARGV', 'ARGV', 'KEYS']);
    return random.pick([
      () => `${parameter}[1] = ${parameter}[1] .. ':n'`,
      () => 'ARGV[2] = ARGV[2] * 10',
      () => `local ${name} ${name}, ARGV[2] = 1, ARGV[2] + 1`,
      () => `ARGV[2], KEYS[1] = 5, KEYS[1] .. ':m'`,
      () => `local ${name} = ${parameter} ${name}[1] = ${name}[1] .. 'q'`,
      () => `local function f(t) t[1] = t[1] .. 'f' end f(${parameter})`,
      () => `table.insert(${parameter}, 'more')`,
      () => `table.remove(${parameter})`,
      // Keys are made of the program's own: other programs run on the same server at the same time.
      () => `rawset(${parameter}, 1, ${parameter}[1] .. 'raw')`,
      () => `for i = 1, #${parameter} do ${parameter}[i] = ${parameter}[i] .. i end`,
      () => `redis.call('APPEND', KEYS[1] .. ':g', #KEYS .. ':' .. #ARGV)`,
      () => `for k, v in pairs(ARGV) do redis.call('HSET', KEYS[1] .. ':all', k, v) end`,
      () => `local ${random.pick(SHADOWED)} = ${random.pick(['5', '{ 1 }', "function() return 'own' end"])}`,
      () => `local function ${random.pick(SHADOWED)}() return 9 end`,
      () => `local redis = { call = function() return 'own' end }`,
      () => `local ${parameter} = { ${parameter}[1] .. 'own', ${parameter}[2] .. '3', 'o' }`,
      () => `${random.pick(['tonumber', 'redis', 'math'])} = nil`,
      () => "redis['setresp'](3)",
      () => `redis.setresp(3) local ${name} = redis.call('HGETALL', KEYS[1] .. ':h')`,
      () => `redis.call('SELECT', 3)`,
      () => `math.randomseed(ARGV[2]) redis.call('RPUSH', KEYS[1] .. ':r', math.random(1000000))`,
      () => `local call = redis.call call('INCR', KEYS[1] .. ':called')`,
      () => `local ${name} = select('#', ...)`,
      () => `redis.call('APPEND', KEYS[1] .. ':g', _G.KEYS[1] .. (_G.ARGV[3] or ''))`,
      () => `redis.call('APPEND', KEYS[1] .. ':g', loadstring('return ARGV[1]')())`,
      () =>
        `local ${name} = setmetatable({ 1, 2 }, { __index = function(_, k) return k == 'err' and 'META x' or nil end })`,
      () => `local ${name} = pcall(redis.pcall, 'HGET', KEYS[1])`,
    ])();
  }

  /** Reads Redis' time, which never runs backwards, but may stand still: within a script, and for all calls of a group. */
  time(): string {
    const { random } = this;
    return random.pick([
      "local t = redis.call('TIME') local us = t[1] * 1000000 + t[2] local last = redis.call('GET', KEYS[1] .. ':times') if last and us < tonumber(last) then error('time went back') end redis.call('SET', KEYS[1] .. ':times', string.format('%.0f', us))",
      `for i = 1, 2 do local t = redis.call( "time" ) redis.call('SET', KEYS[1] .. ':times', t[1] .. t[2]) end`,
      "local t = redis.call('TIME') local d = #t .. type(t[1]) .. type(t[2]) .. #t[1] t[1] = 'changed'",
      `for i = 1, 2 do local t = redis.call('TIME') t[1] = t[1] + i redis.call('HSET', ${this.key()} .. ':h', i, #t) end`,
      `local function clock() local t = redis.call('TIME') t[2] = nil return #t end local d = clock() + clock()`,
    ]);
  }

  /** A first line that begins with a parenthesis. */
  parenthesis(): string {
    return this.random.pick([
      "(function() redis.call('INCR', KEYS[1] .. ':p') end)()",
      "('x'):rep(3)",
      "(redis).call('APPEND', KEYS[1] .. ':p', ARGV[2])",
      "(KEYS)[1] = (KEYS)[1] .. ':p'",
      "(function() error('in parentheses') end)()",
    ]);
  }

  /** Text behind the last statement. */
  end(): string {
    return this.random.pick(['', '', '', ' -- the end', '\n-- the end', ' --[[ the\nend ]]', ' --[==[ end ]==]', '\n']);
  }
}

const SHARED = [
  'local LIMIT = 7\nlocal function double(x) return x * 2 end',
  'local table = { 10, 20 }',
  'local string = { sub = function() return "own" end }',
  "local function tostring(v) return 'own' end",
  'local type = 5',
  'local pcall, error = 1, 2',
  'local redis_call = redis.call',
  "local function now() return redis.call('TIME')[1] end",
  'local function set(t, v) t[1] = v end',
];

/** Makes the script that belongs to a seed. */
export function generate(seed: number): FuzzProgram {
  const random = new Random(seed);
  const [finishes, lists] = [random.chance(0.15), random.chance(0.15)];
  const writer = new Writer(random, random.chance(0.2));
  const shared = random.chance(0.3) ? [random.pick(SHARED), ...(random.chance(0.3) ? [random.pick(SHARED)] : [])] : [];
  const body: string[] = [];
  // Behind other lines, a parenthesis would be taken for the arguments of a call.
  if (shared.length === 0 && random.chance(0.15)) body.push(writer.parenthesis());
  if (finishes && !body[0]?.startsWith('(KEYS)')) body.push(COUNT);
  body.push(...NAMES.slice(0, 2).map((name) => `local ${name} = ${writer.any(1)}`));
  const statements = 1 + random.int(5);
  for (let i = 0; i < statements; i++) {
    const kind = random.next();
    if (kind < 0.5) body.push(writer.usual());
    else if (kind < 0.6) body.push(writer.early());
    else if (kind < 0.75) body.push(writer.failing());
    else if (kind < 0.85) body.push(writer.time());
    else if (!finishes) body.push(writer.reaching());
  }
  if (random.chance(0.9)) body.push(writer.result() + writer.end());
  const replyBytes = random.chance(0.6);
  const [subjects, alike] = [1 + random.int(3), random.chance(0.3)];
  const one = (): FuzzCall => ({
    subject: random.int(subjects),
    value: replyBytes ? random.bytes(random.int(4)) : Buffer.from(random.pick(['', 'x', 'ü', '12', 'e'])),
    count: random.int(8),
    rule: random.chance(0.8) ? 'rule' : 'other',
  });
  const first = one();
  const calls = Array.from({ length: 7 + random.int(3) }, () => (alike ? first : one()));
  return { shared, body, finishes: finishes && body.includes(COUNT), replyBytes, lists, calls };
}
