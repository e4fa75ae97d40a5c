import { SPECIAL } from './wrapper';

/** Numbers and kinds of a script's parameters. */
export interface ScriptShape {
  /** Number of declared keys that are not a list. */
  readonly fixedKeys: number;
  /** For each declared argument that is not a list: true if it is declared `common`. */
  readonly fixedArgs: readonly boolean[];
  /** True if keys or arguments end in a list. */
  readonly lists: boolean;
}

/**
 * Returns the Lua that collects the replies of all calls in one flat array, `{ header, values... }`. Nested arrays would be
 * slower in Redis and in the client. The header is `<arity>:<marks>`; for a timed script `<arity>:<marks>:<us>`,
 * where `us` is Redis' time. Arity is the length of the first reply if that reply is an array, else 0. Marks have one character
 * for each call, which describes its values; empty marks mean `.` for each call:
 *
 *     .  an array of `arity` values, or one value where arity is 0
 *     v  one value as it is, such as an array of another length
 *     n  nothing: the reply was nil or false, which would end the array
 *     e  one value: the text of the error that this call raised or returned
 */
export function recordLua(tagged: boolean): string {
  return `local luanest_out, luanest_at, luanest_arity, luanest_marks = { '' }, 1, nil, nil
local function luanest_mark(ok, reply)
  if not ok then return 'e', luanest_problem(reply) end
  if reply == nil or reply == false then return 'n' end
  if luanest_type(reply) == 'table' and luanest_type(reply.err) == 'string' then return 'e', reply.err end
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
  local kind = luanest_type(reply)
  if kind == 'number' and luanest_arity == 0 and not luanest_marks then
    luanest_at = luanest_at + 1
    luanest_out[luanest_at] = ${tagged ? 'luanest_tag(reply)' : 'reply'}
    return
  end
  if kind ~= 'table' or ${SPECIAL} then
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

/** Lua that runs `finish` for the keys of each call, or once if all calls have the same keys. */
const FINISH_LUA = `for n = 0, luanest_stride_k > 0 and luanest_calls - 1 or 0 do luanest_finish(n * luanest_stride_k) end
`;

/**
 * Returns the Lua that runs all calls under one xpcall. After an error it continues with the next call under a new xpcall.
 * Errors are rare, and an xpcall for each call would cost time.
 *
 * @param setup Lua that declares what `call` needs
 * @param call Lua expression that runs the next call
 * @param finishes true if the script has a `finish`
 */
function loopLua(timed: boolean, setup: string, call: string, finishes = false): string {
  return `${setup}local function luanest_run()
  while luanest_n < luanest_calls do
    luanest_n = luanest_n + 1
    luanest_keep(${call})
  end
end
repeat
  local ok, problem = luanest_xpcall(luanest_run, luanest_note)
  if not ok then
    luanest_arity = luanest_arity or 0
    luanest_record(false, problem)
  end
until ok
${finishes ? FINISH_LUA : ''}luanest_out[1] = luanest_arity .. ':' .. (luanest_marks and luanest_concat(luanest_marks) or '')${
    timed ? " .. luanest_format(':%.0f', luanest_stamp())" : ''
  }
return luanest_out
`;
}

/**
 * Returns the loop for scripts without lists. ARGV is `calls, arguments`; with common arguments it is `calls, number of sets
 * of common arguments, arguments, common arguments`. Keys, arguments and common arguments that are equal for all calls are
 * sent once. The Lua finds the values of call n at n times a stride, which is 0 for values that are sent once.
 */
export function offsetLoop({ fixedKeys, fixedArgs }: ScriptShape, timed: boolean, finishes: boolean): string {
  const common = fixedArgs.filter(Boolean).length;
  const own = fixedArgs.length - common;
  const strideK = `local luanest_stride_k = #KEYS == ${fixedKeys} and 0 or ${fixedKeys}\n`;
  const callK = '(luanest_n - 1) * luanest_stride_k';
  if (common === 0) {
    return loopLua(
      timed,
      `${strideK}local luanest_stride_a = #ARGV == ${own + 1} and 0 or ${own}\n`,
      `luanest_call(${callK}, 1 + (luanest_n - 1) * luanest_stride_a)`,
      finishes,
    );
  }
  return loopLua(
    timed,
    `${strideK}local luanest_commons = luanest_tonumber(ARGV[2])
local luanest_at_c = #ARGV - luanest_commons * ${common}
local luanest_stride_a = luanest_at_c == ${own + 2} and 0 or ${own}
local luanest_stride_c = luanest_commons == 1 and 0 or ${common}
`,
    `luanest_call(${callK}, 2 + (luanest_n - 1) * luanest_stride_a, luanest_at_c + (luanest_n - 1) * luanest_stride_c)`,
    finishes,
  );
}

/**
 * Returns the loop for scripts whose calls need KEYS and ARGV tables of their own. ARGV begins with the number of calls; then
 * for each call its number of keys and its number of arguments; then the arguments of all calls.
 */
export function sliceLoop(timed: boolean): string {
  return loopLua(
    timed,
    `local luanest_k, luanest_a = 0, 1 + 2 * luanest_calls
local function luanest_slice(from, start, count)
  local slice = {}
  for i = 1, count do slice[i] = from[start + i] end
  return slice
end
local function luanest_next()
  local key_count, arg_count = luanest_tonumber(ARGV[2 * luanest_n]), luanest_tonumber(ARGV[2 * luanest_n + 1])
  local keys, args = luanest_slice(KEYS, luanest_k, key_count), luanest_slice(ARGV, luanest_a, arg_count)
  luanest_k, luanest_a = luanest_k + key_count, luanest_a + arg_count
  return luanest_call(keys, args)
end
`,
    'luanest_next()',
  );
}
