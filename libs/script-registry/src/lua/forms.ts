import { createHash } from 'node:crypto';
import { isField, literalIndex, sourceUse } from './source-use';
import { isSignificant, tokenize, type LuaToken } from './tokens';

/** What a form is made from. */
export interface ScriptText {
  readonly source: string;
  /** Runs once for all calls of a group; '' for none. */
  readonly shared: string;
  /** Whether the answer says Redis' time. */
  readonly timed: boolean;
  readonly flags: readonly string[];
}

/** How a script's parameters lie in KEYS and ARGV. */
export interface ScriptShape {
  /** Declared keys that are not a list. */
  readonly fixedKeys: number;
  /** Declared arguments that are not a list. */
  readonly fixedArgs: number;
  /** Whether keys or arguments end in a list. */
  readonly lists: boolean;
}

/** Source ready for SCRIPT LOAD, and the SHA that Redis will know it by. */
export interface LoadableScript {
  readonly body: string;
  readonly sha: string;
}

/** Pairs a body with its SHA-1 over the exact bytes. */
export function loadable(body: string): LoadableScript {
  return { body, sha: createHash('sha1').update(body).digest('hex') };
}

const REDIS_CALL = ['redis', '.', 'call'] as const;
const TIME_CALL = [...REDIS_CALL, '(', /^['"]TIME['"]$/i, ')'] as const;

/** Whether the tokens from `at` on are these, and are no field of another table. */
function matches(tokens: readonly LuaToken[], at: number, pattern: readonly (string | RegExp)[]): boolean {
  if (isField(tokens, at)) return false;
  return pattern.every((part, offset) => {
    const text = tokens[at + offset]?.text ?? '';
    return typeof part === 'string' ? text === part : part.test(text);
  });
}

/**
 * Rewrites a body for use as a function that is looped over calls: literal indexes become offsets, and
 * `redis.call('TIME')` becomes one reading that all calls of the group share. Line breaks stay, for error positions.
 */
function rewriteBody(source: string, offsets: boolean): string {
  const tokens = tokenize(source);
  const places = tokens.flatMap((token, place) => (isSignificant(token) ? [place] : []));
  const code = places.map((place) => tokens[place] as LuaToken);
  const texts = tokens.map((token) =>
    token.kind === 'comment' ? ` ${token.text.replace(/[^\r\n]/g, '')}` : token.text,
  );
  const replace = (from: number, to: number, text: string): void => {
    for (let i = from; i <= to; i++) texts[places[i] as number] = i === from ? text : '';
  };
  for (let i = 0; i < code.length; i++) {
    const { kind, text } = code[i] as LuaToken;
    if (kind !== 'name') continue;
    if (text === 'redis' && matches(code, i, TIME_CALL)) replace(i, i + TIME_CALL.length - 1, 'luanest_time()');
    else if (text === 'redis' && matches(code, i, REDIS_CALL))
      replace(i, i + REDIS_CALL.length - 1, 'luanest_redis_call');
    if (!offsets || (text !== 'KEYS' && text !== 'ARGV') || isField(code, i)) continue;
    const use = literalIndex(code, i);
    if (use) replace(i, use.end, `${text}[luanest_${text === 'KEYS' ? 'k' : 'a'}+${use.index}]`);
  }
  return texts.join('');
}

// A table that the script may change belongs to one call, so each call gets a copy of the shared reading.
const TIME_LUA = `local luanest_now
local function luanest_time()
  if not luanest_now then luanest_now = redis.call('TIME') end
  return { luanest_now[1], luanest_now[2] }
end
`;

/** The reading as one number, us. */
const STAMP_LUA = `local function luanest_stamp()
  local now = luanest_time()
  return now[1] * 1000000 + now[2]
end
`;

// Clients with `stringNumbers` hand integers over as strings; a tag on every leaf keeps the two apart.
const TAG_LUA = `local function luanest_tag(value)
  if type(value) == 'number' then return string.format('i%d', value) end
  if type(value) == 'string' then return 's' .. value end
  if value == true then return 'i1' end
  if type(value) ~= 'table' then return 'n' end
  if value.double then return 's' .. tostring(value.double) end
  if value.ok then return 's' .. value.ok end
  if value.err then return 'e' .. value.err end
  local items = {}
  local i = 1
  while value[i] ~= nil do items[i] = luanest_tag(value[i]); i = i + 1 end
  return items
end
`;

/**
 * Lays the answers of all calls out in one flat array, `{ header, values... }`: nested arrays cost Redis and the
 * client more than the script itself. The header is `<arity>:<marks>`, and `:<us>` for a timed script. Arity is the length of the first reply when it
 * is an array, else 0. A call's mark says what it takes of the values; no marks at all means `.` for each call:
 *
 *     .  an array of `arity` values, or one value where arity is 0
 *     v  one value as it is, such as an array of another length
 *     n  nothing: the reply was nil or false, which would end the array
 *     e  one value: the text of the error that this call raised or returned
 */
function recordLua(tagged: boolean): string {
  return `local luanest_out, luanest_at, luanest_arity, luanest_marks = { '' }, 1, nil, nil
local function luanest_mark(ok, reply)
  if not ok then return 'e', type(reply) == 'table' and reply.err or tostring(reply) end
  if reply == nil or reply == false then return 'n' end
  if type(reply) == 'table' and reply.err then return 'e', reply.err end
  return luanest_arity == 0 and '.' or 'v', ${tagged ? 'luanest_tag(reply)' : 'reply'}
end
local function luanest_record(ok, reply)
  local mark, value = luanest_mark(ok, reply)
  if mark ~= '.' and not luanest_marks then
    luanest_marks = {}
    for i = 1, luanest_n - 1 do luanest_marks[i] = '.' end
  end
  if luanest_marks then luanest_marks[luanest_n] = mark end
  for i = #luanest_out, luanest_at + 1, -1 do luanest_out[i] = nil end
  if mark ~= 'n' then
    luanest_at = luanest_at + 1
    luanest_out[luanest_at] = value
  end
end
local function luanest_keep(reply, b, c, d)
  if b ~= nil and reply ~= nil then
    local arity = c == nil and 2 or d == nil and 3 or 4
    luanest_arity = luanest_arity or arity
    if arity ~= luanest_arity${tagged ? ' or true' : ''} then return luanest_keep({ reply, b, c, d }) end
    luanest_out[luanest_at + 1], luanest_out[luanest_at + 2] = reply, b
    if arity > 2 then luanest_out[luanest_at + 3], luanest_out[luanest_at + 4] = c, d end
    luanest_at = luanest_at + arity
    if luanest_marks then luanest_marks[luanest_n] = '.' end
    return
  end
  if type(reply) ~= 'table' or reply.err or reply.ok then
    luanest_arity = luanest_arity or 0
    return luanest_record(true, reply)
  end
  luanest_arity = luanest_arity or #reply
  if luanest_arity == 0 or #reply ~= luanest_arity then return luanest_record(true, reply) end
  local at = luanest_at
  for i = 1, luanest_arity do
    local value = reply[i]
    if value == nil then return luanest_record(true, reply) end
    luanest_out[at + i] = ${tagged ? 'luanest_tag(value)' : 'value'}
  end
  luanest_at = at + luanest_arity
  if luanest_marks then luanest_marks[luanest_n] = '.' end
end
`;
}

/**
 * Runs all calls under one pcall, and after a call that raised an error goes on with the next one: an error is rare,
 * and a pcall for each call is not free.
 */
function loopLua(timed: boolean, setup: string, call: string): string {
  return `${setup}local function luanest_run()
  while luanest_n < luanest_calls do
    luanest_n = luanest_n + 1
    luanest_keep(${call})
  end
end
repeat
  local ok, problem = pcall(luanest_run)
  if not ok then
    luanest_arity = luanest_arity or 0
    luanest_record(false, problem)
  end
until ok
luanest_out[1] = luanest_arity .. ':' .. (luanest_marks and table.concat(luanest_marks) or '')${
    timed ? " .. string.format(':%.0f', luanest_stamp())" : ''
  }
return luanest_out
`;
}

/**
 * ARGV is `calls, arguments`. Where all calls have the same keys, or the same arguments, these are sent once:
 * their stride is then 0.
 */
function offsetLoop({ fixedKeys, fixedArgs }: ScriptShape, timed: boolean): string {
  return loopLua(
    timed,
    `local luanest_stride_k = #KEYS == ${fixedKeys} and 0 or ${fixedKeys}
local luanest_stride_a = #ARGV == ${fixedArgs + 1} and 0 or ${fixedArgs}
`,
    'luanest_call((luanest_n - 1) * luanest_stride_k, 1 + (luanest_n - 1) * luanest_stride_a)',
  );
}

/** Calls with lists carry their own lengths: ARGV is `calls, (keys, args) per call, then the arguments`. */
function sliceLoop(timed: boolean): string {
  return loopLua(
    timed,
    `local luanest_k, luanest_a = 0, 1 + 2 * luanest_calls
local function luanest_slice(from, start, count)
  local slice = {}
  for i = 1, count do slice[i] = from[start + i] end
  return slice
end
local function luanest_next()
  local key_count, arg_count = tonumber(ARGV[2 * luanest_n]), tonumber(ARGV[2 * luanest_n + 1])
  local keys, args = luanest_slice(KEYS, luanest_k, key_count), luanest_slice(ARGV, luanest_a, arg_count)
  luanest_k, luanest_a = luanest_k + key_count, luanest_a + arg_count
  return luanest_call(keys, args)
end
`,
    'luanest_next()',
  );
}

/** The `#!lua` line: it makes Redis 7 refuse a script before it runs rather than in its middle. */
export function shebang(flags: readonly string[]): string {
  return flags.length === 0 ? '#!lua\n' : `#!lua flags=${flags.join(',')}\n`;
}

/** Text of its own lines, or nothing. */
function lines(text: string): string {
  return text === '' ? '' : `${text}\n`;
}

/**
 * The form of a lone call. An array that begins with a number, which is what most scripts answer, goes out as it is;
 * all else as `{ mark, value }`, marked as in a group, so that an error that the script returns cannot be taken for one
 * that Redis gives before a script runs.
 */
export function singleForm({ source, shared, timed, flags }: ScriptText): string {
  const clock = timed ? `local luanest_redis_call = redis.call\n${TIME_LUA}${STAMP_LUA}` : '';
  const text = (lua: string): string => (timed ? rewriteBody(lua, false) : lua);
  const stamp = timed ? ', luanest_stamp()' : '';
  return `${shebang(flags)}${clock}${lines(text(shared))}local function luanest_call(...)
${text(source)}
end
local reply, b, c, d = luanest_call()
if b ~= nil and reply ~= nil then reply = { reply, b, c, d } end
if reply == nil or reply == false then return { 'n'${timed ? ', false' : ''}${stamp} } end
if type(reply) ~= 'table' then return { '.', reply${stamp} } end
if reply.err then return { 'e', reply.err${stamp} } end
if type(reply[1]) == 'number' and not reply.ok then
  ${timed ? 'reply[#reply + 1] = luanest_stamp()\n  ' : ''}return reply
end
return { '.', reply${stamp} }
`;
}

/** How grouped calls of a script find their parameters. */
export function sliced(source: string, shape: ScriptShape): boolean {
  return shape.lists || sourceUse(source).loops;
}

/** The form that runs a whole group of calls in one EVALSHA, made from the same source as the plain one. */
export function groupedForm({ source, shared, timed, flags }: ScriptText, shape: ScriptShape, tagged: boolean): string {
  const slices = sliced(source, shape);
  const parameters = slices ? 'KEYS, ARGV' : 'luanest_k, luanest_a';
  return (
    shebang(flags) +
    // Locals are found faster than globals and fields, and every call of the group looks them up.
    'local luanest_redis_call, tonumber, type, KEYS, ARGV = redis.call, tonumber, type, KEYS, ARGV\n' +
    'local luanest_n, luanest_calls = 0, tonumber(ARGV[1])\n' +
    TIME_LUA +
    (timed ? STAMP_LUA : '') +
    lines(rewriteBody(shared, false)) +
    `local function luanest_call(${parameters})\n${rewriteBody(source, !slices)}\nend\n` +
    (tagged ? TAG_LUA : '') +
    recordLua(tagged) +
    (slices ? sliceLoop(timed) : offsetLoop(shape, timed))
  );
}
