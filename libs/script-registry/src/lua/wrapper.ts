/** Functions that Lua of luanest uses, by the names of the locals that hold them. A script may have locals named like them. */
const CAPTURED: Readonly<Record<string, string>> = {
  luanest_type: 'type',
  luanest_tostring: 'tostring',
  luanest_tonumber: 'tonumber',
  luanest_rawget: 'rawget',
  luanest_next: 'next',
  luanest_xpcall: 'xpcall',
  luanest_format: 'string.format',
  luanest_concat: 'table.concat',
  luanest_redis_call: 'redis.call',
};

/** Puts Lua without comments on one line, so that the lines of the script keep their numbers. */
export function inline(lua: string): string {
  return lua.replaceAll(/\s*\n\s*/g, ' ').trim();
}

/**
 * Returns the Lua that declares the locals of `CAPTURED` that `code` uses.
 *
 * @param more globals to declare as locals of the same name
 */
export function captures(code: string, more: readonly string[] = []): string {
  const words = new Set(code.match(/\bluanest_\w+/g));
  const used = Object.entries(CAPTURED).filter(([name]) => words.has(name));
  const names = [...used.map(([name]) => name), ...more];
  return names.length === 0
    ? ''
    : `local ${names.join(', ')} = ${[...used.map(([, value]) => value), ...more].join(', ')}`;
}

/** Lua condition for tables that Redis does not convert to an array, in the order of Redis' own checks. */
export const SPECIAL = ['err', 'ok', 'double', 'map', 'set', 'big_number', 'verbatim_string']
  .map((field) => `reply.${field}`)
  .join(' or ');

/**
 * Lua that converts an error of a call to text with a line number, as Redis does. Redis' own error handler finds the line. If a
 * server has no handler of this name, errors of Lua itself still begin with the line, and other errors have none.
 */
export const PROBLEM_LUA = `local luanest_note = luanest_rawget(_G, '__redis__err__handler') or function(problem) return problem end
local function luanest_problem(problem)
  if luanest_type(problem) ~= 'table' then return 'ERR ' .. luanest_tostring(problem) end
  local err, line = luanest_rawget(problem, 'err'), luanest_rawget(problem, 'line')
  if luanest_type(err) == 'number' then err = luanest_tostring(err) end
  if luanest_type(err) ~= 'string' then return 'ERR unknown error' end
  if luanest_rawget(problem, 'source') ~= '@user_script' or not luanest_tonumber(line) then return err end
  return err .. ', on @user_script:' .. line .. '.'
end`;

/** Lua that puts a tag on every value of a reply, because clients with `stringNumbers` return integers and strings alike. */
export const TAG_LUA = `local function luanest_tag(value)
  local kind = luanest_type(value)
  if kind == 'number' then return luanest_format('i%d', value) end
  if kind == 'string' then return 's' .. value end
  if value == true then return 'i1' end
  if kind ~= 'table' then return 'n' end
  local get, items = luanest_rawget, {}
  if luanest_type(get(value, 'err')) == 'string' then return { err = get(value, 'err') } end
  if luanest_type(get(value, 'ok')) == 'string' then return 's' .. get(value, 'ok') end
  if luanest_type(get(value, 'double')) == 'number' then return 's' .. luanest_format('%.17g', get(value, 'double')) end
  local map, set, verbatim = get(value, 'map'), get(value, 'set'), get(value, 'verbatim_string')
  if luanest_type(map) == 'table' then
    for k, v in luanest_next, map do items[#items + 1] = luanest_tag(k) items[#items + 1] = luanest_tag(v) end
    return items
  end
  if luanest_type(set) == 'table' then
    for k in luanest_next, set do items[#items + 1] = luanest_tag(k) end
    return items
  end
  if luanest_type(get(value, 'big_number')) == 'string' then return 's' .. get(value, 'big_number') end
  if luanest_type(verbatim) == 'table' then return 's' .. get(verbatim, 'string') end
  local i = 1
  while get(value, i) ~= nil do
    items[i] = luanest_tag(get(value, i))
    i = i + 1
  end
  return items
end`;

/**
 * Lua that reads Redis' time once for all calls of a group. Each call gets a copy of the table, since a script may change it.
 */
export const SHARED_TIME_LUA = `local luanest_now
local function luanest_time()
  if not luanest_now then luanest_now = luanest_redis_call('TIME') end
  return { luanest_now[1], luanest_now[2] }
end`;

/**
 * Lua that reads Redis' time at each `redis.call('TIME')` in a group. No two readings are the same, as in scripts that run one
 * by one.
 * See DECISIONS.md: time-is-shared-on-request
 */
export const OWN_TIME_LUA = `local luanest_last = 0
local function luanest_time()
  local now = luanest_redis_call('TIME')
  local us = now[1] * 1000000 + now[2]
  if us > luanest_last then
    luanest_last = us
    return now
  end
  luanest_last = luanest_last + 1
  us = luanest_last % 1000000
  return { luanest_format('%.0f', (luanest_last - us) / 1000000), luanest_format('%.0f', us) }
end`;

/** Lua that returns the time of SHARED_TIME_LUA as one number, µs since 1970. */
export const STAMP_LUA = `local function luanest_stamp()
  local now = luanest_time()
  return now[1] * 1000000 + now[2]
end`;

/**
 * Lua that reads Redis' time once for a call sent alone, before the script's own Lua, and keeps it as one number, µs since 1970.
 * A script may change the table of the time, but not this number.
 */
export const LONE_STAMP_LUA = `local luanest_now = redis.call('TIME')
local luanest_us = luanest_now[1] * 1000000 + luanest_now[2]`;

/** Lua that returns the time of LONE_STAMP_LUA at each `redis.call('TIME')` of the script. */
export const LONE_TIME_LUA = `local function luanest_time() return { luanest_now[1], luanest_now[2] } end`;

/**
 * Lua that runs `finish` after a call sent alone, also if the call raises an error, as in a group.
 * See DECISIONS.md: finish-runs-after-the-group
 */
export const FINISHED_LUA = `local function luanest_finished(ok, ...)
  luanest_finish()
  if ok then return ... end
  local problem = ...
  return { err = luanest_problem(problem) }
end`;
