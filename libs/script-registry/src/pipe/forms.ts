import { createHash } from 'node:crypto';
import type { ScriptDefinition } from '../script-definition';

/** A body for SCRIPT LOAD, and its SHA1 hash. */
export interface LoadableScript {
  readonly body: string;
  readonly sha: string;
}

/**
 * Lua that may leave something behind for the next call of a group, which Redis resets for each call that is sent alone: the
 * database, the protocol of replies, replication, environments, random numbers. Lua that may read KEYS and ARGV of the whole group:
 * through `_G`, or loaded from text. Metatables, whose code may run when a reply is read. And `...`, which a function does not have,
 * or a level for `error`, which counts from the script itself.
 * Calls of a script with such a text are sent alone.
 */
const SENT_ALONE =
  /\.\.\.|\b(?:select|setresp|set_repl|setfenv|getfenv|_G|load|loadstring|setmetatable|getmetatable|newproxy|random|randomseed|server)\b|\berror\s*\([^\n]*,\s*(?:[1-9]|\w+\s*\))/i;

/** Uses of `redis` that leave nothing behind. Any other may be SELECT: a command that is not named, a field that is not named. */
const NAMED_USE =
  /\bredis\s*\.\s*(?:p?call\s*\(\s*(?:'[\w.]+'|"[\w.]+")|(?:error_reply|status_reply|sha1hex|log|LOG_\w+|acl_check_cmd)\b)/g;

/** Returns Lua without its comments. Of text that only looks like a comment, more may be removed. */
export function withoutComments(lua: string): string {
  return lua.replaceAll(/--\[(=*)\[[\s\S]*?\]\1\]|--.*$/gm, '');
}

/** Returns true if calls of this Lua may run one after the other in one run of a group. */
export function mayShareRun(lua: string): boolean {
  // What looks like a comment behind a quote or a bracket may be text with code behind it, so it counts.
  const code = lua.replaceAll(/^([^'"[\]\n]*?)--(?:\[(=*)\[[\s\S]*?\]\2\]|.*$)/gm, '$1');
  return !SENT_ALONE.test(code) && !/\bredis\b/.test(code.replaceAll(NAMED_USE, ''));
}

const CALL = /^-- @call$/m;
const FINISH = /^-- @finish$/m;

/** The sections of a source, see `source` of ScriptSpec. Without a line `-- @call`, the whole source is `call`. */
export interface Sections {
  readonly shared: string;
  readonly call: string;
  readonly finish: string;
}

export function sectionsOf(source: string): Sections {
  const [body = '', finish = ''] = source.split(FINISH, 2);
  const [first = '', second] = body.split(CALL, 2);
  return second === undefined ? { shared: '', call: first, finish } : { shared: first, call: second, finish };
}

/** Returns the form of a call that is sent alone: the source as it is written, below a `#!lua` line. */
export function loneForm({ source, flags }: ScriptDefinition): LoadableScript {
  return loadable(`${shebang(flags)}${source}`);
}

/**
 * Returns the form of a group of calls. Its ARGV is the number of calls, of the keys of one call and of its arguments, then all
 * arguments. Keys that are the same for all calls are sent once, and so are arguments. The reply is an array with the reply of each
 * call, where false stands for nil, which would end the array.
 *
 * Each line of the source stays where it is, so an error has the same line as for a call that is sent alone.
 *
 * @returns undefined if calls of the script must be sent alone
 */
export function groupForm(script: ScriptDefinition): LoadableScript | undefined {
  const { source, flags, group } = script;
  if (group === false || group.maxCalls === 1) return undefined;
  const text = group.source ?? source;
  if (!mayShareRun(text)) return undefined;
  const begun = CALL.test(text) ? text.replace(CALL, BEGIN_CALL) : `${BEGIN_CALL} ${text}`;
  const lua = begun.replace(FINISH, BEGIN_FINISH);
  return loadable(
    `${shebang(flags)}${BEGIN} ${lua}\nend\n${runCalls(script)}${lua === begun ? '' : RUN_FINISH}return luanest_out\n`,
  );
}

/**
 * Returns the `#!lua` line. With this line Redis 7 refuses a script that must not write now (such as on a replica, or while
 * memory is full) before it runs, instead of at its first write.
 */
function shebang(flags: readonly string[]): string {
  return flags.length === 0 ? '#!lua\n' : `#!lua flags=${flags.join(',')}\n`;
}

function loadable(body: string): LoadableScript {
  return { body, sha: createHash('sha1').update(body).digest('hex') };
}

/** Saves what the Lua below needs, because a section may have locals of the same names. */
const BEGIN =
  'local luanest_keys, luanest_args, luanest_unpack, luanest_xpcall, luanest_type, luanest_tostring, luanest_rawget, luanest_handler = ' +
  "KEYS, ARGV, unpack, xpcall, type, tostring, rawget, rawget(_G, '__redis__err__handler');";
const BEGIN_CALL = 'local function luanest_call(KEYS, ARGV)';
const BEGIN_FINISH = 'end local function luanest_finish(KEYS)';

/**
 * Returns Lua that runs the calls one after the other under one xpcall, and goes on after a call that raised an error. Redis' own
 * handler notes the line of an error, as it does for a call that is sent alone.
 */
function runCalls({ keys, args }: ScriptDefinition): string {
  const types = Object.values(args as Record<string, object>);
  const listed = { keys: keys.some((key) => key.endsWith('[]')), args: types.some((type) => 'item' in type) };
  const callKeys = itemsOf('keys', 'k', 'luanest_nk', listed.keys ? undefined : keys.length);
  const callArgs = itemsOf('args', 'a', 'luanest_na', listed.args ? undefined : types.length);
  return `local luanest_calls, luanest_nk, luanest_na = luanest_args[1] + 0, luanest_args[2] + 0, luanest_args[3] + 0
local luanest_step_k = #luanest_keys > luanest_nk and luanest_nk or 0
local luanest_step_a = #luanest_args > luanest_na + 3 and luanest_na or 0
local luanest_out, luanest_at = {}, 0
local function luanest_run()
  local keys, args, call, out, last = luanest_keys, luanest_args, luanest_call, luanest_out, luanest_calls
  local step_k, step_a = luanest_step_k, luanest_step_a
  while luanest_at < last do
    local at = luanest_at
    local k, a = at * step_k, at * step_a + 3
    luanest_at = at + 1
    local reply = call({ ${callKeys} }, { ${callArgs} })
    if reply == nil then reply = false end
    out[at + 1] = reply
  end
end
repeat
  local ok, raised = luanest_xpcall(luanest_run, luanest_handler or function(problem) return problem end)
  if not ok then
    local err, line = 'ERR ' .. luanest_tostring(raised), nil
    if luanest_type(raised) == 'table' then
      err = luanest_tostring(luanest_rawget(raised, 'err') or 'ERR unknown error')
      line = luanest_rawget(raised, 'source') == '@user_script' and luanest_rawget(raised, 'line')
    end
    luanest_out[luanest_at] = { err = line and err .. ', on @user_script:' .. line .. '.' or err }
  end
until ok
`;
}

/** Maximum number of keys or arguments of a call that its group form spells out. Lua allows more, but long lines gain nothing. */
const SPELLED_OUT = 24;

/**
 * Returns the items of a call's table of keys or arguments. Items that are spelled out cost less than `unpack`.
 *
 * @param count undefined if it differs between groups, because there is a list
 */
function itemsOf(table: string, start: string, length: string, count: number | undefined): string {
  if (count === undefined || count > SPELLED_OUT)
    return `luanest_unpack(luanest_${table}, ${start} + 1, ${start} + ${length})`;
  return Array.from({ length: count }, (_, i) => `${table}[${start} + ${i + 1}]`).join(', ');
}

/** Lua that runs the section `finish` for the keys of each call, or once if all calls have the same keys. */
const RUN_FINISH = `for call = 0, luanest_step_k > 0 and luanest_calls - 1 or 0 do
  luanest_finish({ luanest_unpack(luanest_keys, call * luanest_nk + 1, (call + 1) * luanest_nk) })
end
`;
