import { createHash } from 'node:crypto';
import type { ScriptDefinition } from '../script-definition';

/** A Lua text for SCRIPT LOAD, with its SHA1 hash. */
export interface LoadableScript {
  readonly body: string;
  readonly sha: string;
}

/**
 * Matches Lua that cannot run in a group, where one EVALSHA runs several calls. The calls of such a script are sent one by one. The pattern
 * finds Lua with one of these properties:
 * - It may change the state of the next call of the group: the database, the protocol of replies, replication, environments or random
 *   numbers. Redis resets this state only between commands.
 * - It may read KEYS and ARGV of the whole group, through `_G` or through Lua that is loaded from text.
 * - It uses metatables, whose code may run when a reply is read.
 * - It uses `...`, which has other values inside a function, or the level parameter of `error`, which depends on the depth of functions.
 */
const SENT_ALONE =
  /\.\.\.|\b(?:select|setresp|set_repl|setfenv|getfenv|_G|load|loadstring|setmetatable|getmetatable|newproxy|random|randomseed|server)\b|\berror\s*\([^\n]*,\s*(?:[1-9]|\w+\s*\))/i;

/**
 * Matches calls of `redis` functions that surely leave no state behind for the next call of a group. Any other use may be a SELECT in
 * disguise, because its command or its field is not a literal.
 */
const NAMED_USE =
  /\bredis\s*\.\s*(?:p?call\s*\(\s*(?:'[\w.]+'|"[\w.]+")|(?:error_reply|status_reply|sha1hex|log|LOG_\w+|acl_check_cmd)\b)/g;

/** Returns Lua without its comments. Text that only looks like a comment, such as `--` in a string, is removed, too. */
export function withoutComments(lua: string): string {
  return lua.replaceAll(/--\[(=*)\[[\s\S]*?\]\1\]|--.*$/gm, '');
}

/** Returns true if one EVALSHA may run several calls of this Lua one after the other. */
export function mayShareRun(lua: string): boolean {
  // A `--` after a quote or a bracket may be inside a string, with code behind the string. So such text is kept, and searched as well.
  const code = lua.replaceAll(/^([^'"[\]\n]*?)--(?:\[(=*)\[[\s\S]*?\]\2\]|.*$)/gm, '$1');
  return !SENT_ALONE.test(code) && !/\bredis\b/.test(code.replaceAll(NAMED_USE, ''));
}

const CALL = /^-- @call$/m;
const FINISH = /^-- @finish$/m;

/**
 * The parts of a Lua source. `shared` is above the line `-- @call`, `call` is below this line, and `finish` is below the line `-- @finish`.
 * Without a line `-- @call`, `shared` is empty.
 */
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

/** Returns the Lua text for a single call: a `#!lua` line, and the unchanged source. */
export function loneForm({ source, flags }: ScriptDefinition): LoadableScript {
  return loadable(`${shebang(flags)}${source}`);
}

/**
 * Returns the Lua text that runs a group of calls in one EVALSHA; undefined if the calls of the script must be sent one by one.
 *
 * ARGV begins with three numbers: calls, keys per call, and arguments per call. All arguments follow. If all calls have the same keys, the
 * keys are sent only once. If all calls have the same arguments, these are sent only once. The reply is an array with one reply per call. A
 * nil would end the array, so false replaces it.
 *
 * The lines of the source keep their numbers, so an error shows the same line as for a single call.
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
 * Returns the `#!lua` line. It makes Redis 7 check before the script runs if scripts may write now, such as on a replica or while memory is
 * full. Without the line, the script would fail halfway, at its first write.
 */
function shebang(flags: readonly string[]): string {
  return flags.length === 0 ? '#!lua\n' : `#!lua flags=${flags.join(',')}\n`;
}

function loadable(body: string): LoadableScript {
  return { body, sha: createHash('sha1').update(body).digest('hex') };
}

/** Saves KEYS, ARGV and functions in locals with other names, because the script may declare a local with a name such as `type`. */
const BEGIN =
  'local luanest_keys, luanest_args, luanest_unpack, luanest_xpcall, luanest_type, luanest_tostring, luanest_rawget, luanest_handler = ' +
  "KEYS, ARGV, unpack, xpcall, type, tostring, rawget, rawget(_G, '__redis__err__handler');";
const BEGIN_CALL = 'local function luanest_call(KEYS, ARGV)';
const BEGIN_FINISH = 'end local function luanest_finish(KEYS)';

/**
 * Returns Lua that runs the calls of a group one after the other in one xpcall. After a call that raises an error, it goes on with the next
 * call. Redis' own error handler adds the line number to the error, as it does for a single call.
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

/**
 * Up to this many keys or arguments are listed one by one in the Lua of a group, as `keys[k + 1], keys[k + 2]`. More of them use the slower
 * `unpack`.
 */
const SPELLED_OUT = 24;

/**
 * Returns the Lua for the table of one call's keys or arguments. Listing the items one by one costs less than `unpack`.
 *
 * @param count number of items; undefined if the script takes a list, because the number then differs between groups
 */
function itemsOf(table: string, start: string, length: string, count: number | undefined): string {
  if (count === undefined || count > SPELLED_OUT)
    return `luanest_unpack(luanest_${table}, ${start} + 1, ${start} + ${length})`;
  return Array.from({ length: count }, (_, i) => `${table}[${start} + ${i + 1}]`).join(', ');
}

/** Runs the section `-- @finish`: once if all calls have the same keys, otherwise once per call, with the keys of that call. */
const RUN_FINISH = `for call = 0, luanest_step_k > 0 and luanest_calls - 1 or 0 do
  luanest_finish({ luanest_unpack(luanest_keys, call * luanest_nk + 1, (call + 1) * luanest_nk) })
end
`;
