import { SPECIAL } from './wrapper';

/**
 * Returns the Lua that encodes the result of a script in a call sent alone. The result is in the locals `reply`, `b`, `c` and `d`.
 * Arrays that begin with a number, as most scripts return, have no mark, unless the result may have a metatable. Nor have values
 * that are not a table, unless the script is timed or the value is the text QUEUED. Any other result is returned as
 * `{ mark, value }`, with the marks of `recordLua`, so that an error that the script returns differs from an error of Redis itself.
 * The time of a timed call is the last value of an array.
 * See DECISIONS.md: lone-array-returned-unwrapped
 *
 * @param metatables true if the result may have a metatable
 */
export function loneReply(timed: boolean, metatables: boolean): string {
  const time = timed ? ', luanest_us' : '';
  const err = metatables ? "luanest_rawget(reply, 'err')" : 'reply.err';
  return `if b ~= nil and reply ~= nil then
  if luanest_type(reply) == 'number' then ${timed ? TIMED_VALUES : 'return { reply, b, c, d }'} end
  return { '.', { reply, b, c, d }${time} }
end
if luanest_type(reply) ~= 'table' then ${timed ? TIMED_SCALAR : SCALAR} end
local err = ${err}
if err and luanest_type(err) == 'string' then return { 'e', err${time} } end
${metatables ? '' : `if luanest_type(reply[1]) == 'number' and not (${SPECIAL}) then ${timed ? TIMED_ARRAY : ''}return reply end`}
return { '.', reply${time} }`;
}

/** Redis itself replies QUEUED while a MULTI is open, so a result of this text gets a mark. */
const SCALAR = `if reply == 'QUEUED' then return { '.', reply } end return reply`;
const TIMED_SCALAR = `if reply == nil then return { 'n', false, luanest_us } end return { '.', reply, luanest_us }`;

/** Lua that returns two to four values, the first of them a number, and the time. */
const TIMED_VALUES = `
  if c == nil then return { reply, b, luanest_us } end
  if d == nil then return { reply, b, c, luanest_us } end
  return { reply, b, c, d, luanest_us }`;

/** Lua that adds the time to an array. Redis ends an array at its first nil, so the time replaces that nil. */
const TIMED_ARRAY = `local n = 2
while reply[n] ~= nil do n = n + 1 end
reply[n], reply[n + 1] = luanest_us, nil `;

/** Same as `loneReply`, for clients with `stringNumbers`: every result has a mark, and every value in it has a tag. */
export function taggedReply(timed: boolean): string {
  const time = timed ? ', luanest_us' : '';
  return `if b ~= nil and reply ~= nil then reply = { reply, b, c, d } end
if reply == nil then return { 'n', false${time} } end
local err = luanest_type(reply) == 'table' and luanest_rawget(reply, 'err')
if luanest_type(err) == 'string' then return { 'e', err${time} } end
return { '.', luanest_tag(reply)${time} }`;
}
