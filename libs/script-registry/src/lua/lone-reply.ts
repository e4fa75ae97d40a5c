import { SPECIAL } from './wrapper';

/**
 * Returns the Lua that ends the form of a call sent alone, and encodes the result of the script. An array that begins with a
 * number, as most scripts return, is returned unchanged. Any other result is returned as `{ mark, value }`, with the marks of
 * `recordLua`, so that an error that the script returns differs from an error of Redis itself. The time of a timed call is the
 * last value.
 * See DECISIONS.md: lone-array-returned-unwrapped
 *
 * @param call Lua expression that runs the script
 * @param metatables true if the result may have a metatable
 */
export function loneReply(call: string, timed: boolean, metatables: boolean): string {
  const time = timed ? ', luanest_stamp()' : '';
  return `local reply, b, c, d = ${call}
if b ~= nil and reply ~= nil then
  if luanest_type(reply) == 'number' then ${timed ? timedValues : 'return { reply, b, c, d }'} end
  return { '.', { reply, b, c, d }${time} }
end
if reply == nil then return { 'n'${timed ? ', false' : ''}${time} } end
if luanest_type(reply) ~= 'table' then return { '.', reply${time} } end
local err = ${metatables ? "luanest_rawget(reply, 'err')" : 'reply.err'}
if err and luanest_type(err) == 'string' then return { 'e', err${time} } end
${metatables ? '' : `if luanest_type(reply[1]) == 'number' and not (${SPECIAL}) then ${timed ? timedArray : ''}return reply end`}
return { '.', reply${time} }`;
}

/** Lua that returns two to four values, the first of them a number, and the time. */
const timedValues = `
  if c == nil then return { reply, b, luanest_stamp() } end
  if d == nil then return { reply, b, c, luanest_stamp() } end
  return { reply, b, c, d, luanest_stamp() }`;

/** Lua that adds the time to an array. Redis ends an array at its first nil, so the time replaces that nil. */
const timedArray = `local n = 2
while reply[n] ~= nil do n = n + 1 end
reply[n], reply[n + 1] = luanest_stamp(), nil `;

/** Same as `loneReply`, for clients with `stringNumbers`: every result has a mark, and every value in it has a tag. */
export function taggedReply(call: string, timed: boolean): string {
  const time = timed ? ', luanest_stamp()' : '';
  return `local reply, b, c, d = ${call}
if b ~= nil and reply ~= nil then reply = { reply, b, c, d } end
if reply == nil then return { 'n', false${time} } end
local err = luanest_type(reply) == 'table' and luanest_rawget(reply, 'err')
if luanest_type(err) == 'string' then return { 'e', err${time} } end
return { '.', luanest_tag(reply)${time} }`;
}
