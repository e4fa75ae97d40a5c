import type { Random } from './random';

const NUMBERS = [
  '0',
  '1',
  '2',
  '3',
  '-1',
  '7',
  '10',
  '0.5',
  '2.25',
  '1e3',
  '1e15',
  '123456789012345',
  '0.1',
  '2^53',
  '1e300',
  '0x10',
];
const STRINGS = [
  "''",
  "'a'",
  "'abc'",
  "'hello world'",
  "'10'",
  "' 3 '",
  "'0x1F'",
  "'1e2'",
  "'x=1, y=2'",
  "'a.b.c'",
  "'\\0z'",
  "'é'",
];
const PATTERNS = [
  "'%w+'",
  "'(%a)(%a)'",
  "'%d*'",
  "'.'",
  "'b'",
  "'^a'",
  "'c$'",
  "'[^,]+'",
  "'(%w+)=(%w+)'",
  "'.-'",
  "'%s'",
  "'()'",
  "'%b()'",
  "'%f[%w]'",
  "'['",
  "'%'",
  "'(a'",
  "'[%w_]*'",
];
const FORMATS = [
  "'%d'",
  "'%5d|'",
  "'%-5d|'",
  "'%05d'",
  "'%x'",
  "'%s'",
  "'%10s|'",
  "'%.2f'",
  "'%g'",
  "'%.14g'",
  "'%.17g'",
  "'%e'",
  "'%q'",
  "'%c'",
  "'%i'",
  "'%u'",
  "'%.0f'",
  "'%5.1f'",
  "'%+d'",
  "'%z'",
  "'%%'",
  "'%.3s'",
  "'%o'",
  "'%X'",
];
const NAMES = ['a', 'b', 'c', 't'];
const OPERATORS = ['+', '-', '*', '/', '%', '^', '..', '..', '==', '~=', '<', '<=', '>', '>=', 'and', 'or'];
/** An expression that Lua calculates when it compiles. Results of 0 and -0 become one constant there, but not in memory. */
const CONSTANT = /^[-+*/%^().\dex\s]+$/;

/** Makes Lua programs that always end. What they return shows what they have calculated. */
export class RandomLua {
  private depth = 0;

  constructor(private readonly random: Random) {}

  program(): string {
    this.depth = 0;
    const body = this.random.list(1, 5, () => this.statement()).join('\n');
    return `local a, b, c, t = 1, 'x', 2.5, {1, 2, 3, k = 'v'}
local function show(v)
  if type(v) ~= 'table' then return type(v) .. ':' .. tostring(v) end
  local parts = {}
  for i = 1, #v do parts[#parts + 1] = type(v[i]) == 'table' and 'table' or tostring(v[i]) end
  for k, x in pairs(v) do parts[#parts + 1] = tostring(k) .. '=' .. (type(x) == 'table' and 'table' or tostring(x)) end
  return #v .. '{' .. table.concat(parts, ',') .. '}'
end
${body}
return {show(a), show(b), show(c), show(t)}`;
  }

  private statement(): string {
    if (++this.depth > 40) return 'a = 1';
    return this.random.pick(this.statements)();
  }

  private block(): string {
    return this.random.list(0, 2, () => this.statement()).join(' ');
  }

  private readonly statements: readonly (() => string)[] = [
    () => `${this.name()} = ${this.expression()}`,
    () => `${this.name()}, ${this.name()} = ${this.expression()}, ${this.expression()}`,
    () => `t[#t + 1], t[#t + 2] = ${this.expression()}, ${this.expression()}`,
    () => `a, t[a] = ${this.expression()}, ${this.expression()}`,
    // A key without an address, which would decide the order of pairs().
    () => `t[${this.scalar()}] = ${this.expression()}`,
    () => `t.${this.name()} = ${this.expression()}`,
    () => `if ${this.expression()} then ${this.block()} else ${this.block()} end`,
    () => `for i = ${this.small()}, ${this.small()} do t[i] = ${this.expression()} end`,
    () => `for i = ${this.small()}, ${this.small()} do t[i] = nil end`,
    () =>
      `for i = ${this.small()}, ${this.small()}, ${this.random.pick(['1', '2', '-1', '0.5'])} do local a = i ${this.block()} end`,
    () => `for k, v in pairs(${this.table()}) do ${this.block()} end`,
    () => `for i, v in ipairs(${this.table()}) do b = v end`,
    () => `do local ${this.name()} = ${this.expression()} ${this.block()} end`,
    () => {
      const n = `n${this.depth}`;
      return `local ${n} = 0 while ${n} < ${this.small()} do ${n} = ${n} + 1 ${this.block()} if ${n} > 2 then break end end`;
    },
    () => {
      const n = `n${this.depth}`;
      return `local ${n} = 0 repeat ${n} = ${n} + 1 ${this.block()} until ${n} > 3`;
    },
    () =>
      `local function f(x, ...) ${this.block()} return x, ... end ${this.name()} = f(${this.expression()}, ${this.expression()})`,
    () => `${this.name()} = (function(...) return select('#', ...) end)(${this.expression()}, ${this.expression()})`,
    () =>
      `local ok, e = pcall(function() ${this.block()} return ${this.expression()} end) ${this.name()} = ok ${this.name()} = e`,
    () =>
      `local ok, e = xpcall(function() ${this.block()} return ${this.expression()} end, rawget(_G, '__redis__err__handler'))
if not ok then ${this.name()} = tostring(rawget(e, 'err')) .. tostring(rawget(e, 'line')) .. tostring(rawget(e, 'source')) end`,
    // One value: of two, the first is the position. From there to the end of the list may be two billion steps.
    () =>
      `table.insert(${this.random.chance(0.9) ? 't' : this.expression()}, ${this.random.chance(0.5) ? `${this.small()}, ` : ''}(${this.expression()}))`,
    () => `${this.name()} = table.remove(t${this.random.chance(0.5) ? `, ${this.small()}` : ''})`,
    () => 'pcall(table.sort, t)',
    () => `table.sort(t, function(x, y) return tostring(x) < tostring(y) end)`,
    // A table without `err` would end Redis itself. Levels from 3 have no position in memory.
    () =>
      `local e = ${this.expression()} if type(e) ~= 'table' then error(e${this.random.chance(0.3) ? `, ${this.random.pick(['0', '1', '2', '-1'])}` : ''}) end`,
    () => `t = ${this.table()}`,
  ];

  private expression(): string {
    if (++this.depth > 40) return '1';
    return this.random.pick(this.expressions)();
  }

  private readonly expressions: readonly (() => string)[] = [
    () => this.random.pick(NUMBERS),
    () => this.random.pick(NUMBERS),
    () => this.random.pick(STRINGS),
    () => this.random.pick(STRINGS),
    () => this.name(),
    () => this.name(),
    () => this.random.pick(['nil', 'true', 'false']),
    () => this.table(),
    () => this.operation(this.expression(), OPERATORS, this.expression()),
    () => this.operation(this.expression(), ['+', '-', '*', '..'], this.random.pick(NUMBERS)),
    () => `${this.random.pick(['not ', '#'])}(${this.expression()})`,
    () => `-(${this.variable(this.expression())})`,
    () => `t[${this.expression()}]`,
    () => `t.${this.name()}`,
    () => `(${this.expression()}).k`,
    () => `tostring(${this.scalar()})`,
    () => `tonumber(${this.scalar()}${this.random.chance(0.2) ? ', 16' : ''})`,
    () => `math.${this.random.pick(['floor', 'ceil', 'abs', 'sqrt', 'modf', 'frexp'])}(${this.expression()})`,
    () => `math.${this.random.pick(['max', 'min', 'fmod'])}(${this.expression()}, ${this.expression()})`,
    () => `string.${this.random.pick(['len', 'upper', 'lower', 'reverse', 'byte'])}(${this.expression()})`,
    () => `string.sub(${this.expression()}, ${this.small()}, ${this.small()})`,
    () => `string.rep(${this.expression()}, ${this.small()})`,
    () => `string.format(${this.random.pick(FORMATS)}, ${this.expression()})`,
    () => `string.${this.random.pick(['find', 'match'])}(${this.expression()}, ${this.random.pick(PATTERNS)})`,
    () =>
      `string.gsub(${this.expression()}, ${this.random.pick(PATTERNS)}, ${this.random.pick(["'%0%0'", "'%1'", "''", 't', "'<%2>'", 'string.upper'])})`,
    () => `(${this.expression()}):${this.random.pick(['len', 'upper', 'sub', 'rep'])}(${this.small()})`,
    () => `select(${this.small()}, ${this.expression()}, ${this.expression()})`,
    () => `table.concat(t, ${this.random.pick(STRINGS)})`,
    () => `type(${this.expression()})`,
    () => `rawequal(${this.expression()}, ${this.expression()})`,
    () =>
      `bit.${this.random.pick(['band', 'bor', 'bxor', 'lshift', 'rshift', 'arshift'])}(${this.expression()}, ${this.small()})`,
    () => `cjson.encode(${this.expression()})`,
    () => this.random.pick(['cjson.null', `cjson.decode('[1, null, {"k": null}]')[3]`]),
    () => `#{${this.expression()}, ${this.expression()}, nil, ${this.expression()}}`,
    () => `unpack(t)`,
    () => `(redis.call('ECHO', ${this.expression()}))`,
  ];

  private operation(left: string, operators: readonly string[], right: string): string {
    const operator = this.random.pick(operators);
    return `(${'*/%'.includes(operator) && CONSTANT.test(right) ? this.variable(left) : left} ${operator} ${right})`;
  }

  /** Replaces a constant. */
  private variable(expression: string): string {
    return CONSTANT.test(expression) ? 'a' : expression;
  }

  private table(): string {
    if (++this.depth > 40) return '{}';
    const field = (): string =>
      this.random.pick([
        () => this.expression(),
        () => `${this.name()} = ${this.expression()}`,
        () => `[${this.scalar()}] = ${this.expression()}`,
      ])();
    return `{${this.random.list(0, 4, field).join(', ')}}`;
  }

  /** A value whose text does not have an address. */
  private scalar(): string {
    return this.random.pick([this.random.pick(NUMBERS), this.random.pick(STRINGS), '#t', '#t', 'nil', 'true']);
  }

  private small(): string {
    return this.random.pick(['0', '1', '2', '3', '5', '-1', '-2', '(#t % 7)']);
  }

  private name(): string {
    return this.random.pick(NAMES);
  }
}
