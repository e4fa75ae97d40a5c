import { createHash } from 'node:crypto';
import { offsetLoop, recordLua, sliceLoop, TAG_LUA, type ScriptShape } from './group-loop';
import { isField, literalIndex, sourceUse } from './source-use';
import { isSignificant, tokenize, type LuaToken } from './tokens';

/** What a form is made from. */
interface ScriptText {
  readonly source: string;
  /** Runs once for all calls of a group; '' for none. */
  readonly shared: string;
  /** Runs after all calls of a group, for each set of keys; '' for none. */
  readonly finish: string;
  /** Whether the answer says Redis' time. */
  readonly timed: boolean;
  readonly flags: readonly string[];
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
 * Where a call's arguments lie in a group's ARGV, by their index from 1: its own from `luanest_a` on, common ones from
 * `luanest_c` on.
 */
function argPlaces(fixedArgs: readonly boolean[]): string[] {
  const counts = { luanest_a: 0, luanest_c: 0 };
  return fixedArgs.map((common) => {
    const block = common ? 'luanest_c' : 'luanest_a';
    return `${block}+${(counts[block] += 1)}`;
  });
}

/**
 * Rewrites a body for use as a function that is looped over calls: literal indexes become offsets, and
 * `redis.call('TIME')` becomes one reading that all calls of the group share. Line breaks stay, for error positions.
 */
function rewriteBody(source: string, places?: readonly string[]): string {
  const tokens = tokenize(source);
  const significant = tokens.flatMap((token, at) => (isSignificant(token) ? [at] : []));
  const code = significant.map((at) => tokens[at] as LuaToken);
  const texts = tokens.map((token) =>
    token.kind === 'comment' ? ` ${token.text.replace(/[^\r\n]/g, '')}` : token.text,
  );
  const replace = (from: number, to: number, text: string): void => {
    for (let i = from; i <= to; i++) texts[significant[i] as number] = i === from ? text : '';
  };
  for (let i = 0; i < code.length; i++) {
    const { kind, text } = code[i] as LuaToken;
    if (kind !== 'name') continue;
    if (text === 'redis' && matches(code, i, TIME_CALL)) replace(i, i + TIME_CALL.length - 1, 'luanest_time()');
    else if (text === 'redis' && matches(code, i, REDIS_CALL))
      replace(i, i + REDIS_CALL.length - 1, 'luanest_redis_call');
    if (!places || (text !== 'KEYS' && text !== 'ARGV') || isField(code, i)) continue;
    const use = literalIndex(code, i);
    if (use) replace(i, use.end, `${text}[${text === 'KEYS' ? `luanest_k+${use.index}` : places[use.index - 1]}]`);
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

/** The `#!lua` line: it makes Redis 7 refuse a script before it runs rather than in its middle. */
function shebang(flags: readonly string[]): string {
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
export function singleForm({ source, shared, finish, timed, flags }: ScriptText): string {
  const clock = timed ? `local luanest_redis_call = redis.call\n${TIME_LUA}${STAMP_LUA}` : '';
  const text = (lua: string): string => (timed ? rewriteBody(lua) : lua);
  const stamp = timed ? ', luanest_stamp()' : '';
  const { setup, declared, call } = finish === '' ? WITHOUT_FINISH : finishing(text(finish));
  return `${shebang(flags)}${setup}${clock}${lines(text(shared))}local function luanest_call(...)
${text(source)}
end
${declared}local reply, b, c, d = ${call}
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

/** How a lone call is made: what goes before the script, what goes behind it, and the call. */
interface LoneCall {
  readonly setup: string;
  readonly declared: string;
  readonly call: string;
}

const WITHOUT_FINISH: LoneCall = { setup: '', declared: '', call: 'luanest_call()' };

/** `finish` runs whatever the call does, as it would in a group. */
function finishing(finish: string): LoneCall {
  return {
    setup: 'local luanest_pcall = pcall\n',
    declared: `local function luanest_finish(...)
${finish}
end
local function luanest_finished(ok, ...)
  luanest_finish()
  if ok then return ... end
  local problem = ...
  return { err = type(problem) == 'table' and problem.err or tostring(problem) }
end
`,
    call: 'luanest_finished(luanest_pcall(luanest_call))',
  };
}

/** How grouped calls of a script find their parameters. */
export function sliced(source: string, shape: ScriptShape): boolean {
  return shape.lists || sourceUse(source).loops;
}

/** The form that runs a whole group of calls in one EVALSHA, made from the same source as the plain one. */
export function groupedForm(
  { source, shared, finish, timed, flags }: ScriptText,
  shape: ScriptShape,
  tagged: boolean,
): string {
  const slices = sliced(source, shape);
  const common = shape.fixedArgs.some(Boolean);
  const parameters = slices ? 'KEYS, ARGV' : `luanest_k, luanest_a${common ? ', luanest_c' : ''}`;
  const places = slices ? undefined : argPlaces(shape.fixedArgs);
  return (
    shebang(flags) +
    // Locals are found faster than globals and fields, and every call of the group looks them up.
    'local luanest_redis_call, tonumber, type, KEYS, ARGV = redis.call, tonumber, type, KEYS, ARGV\n' +
    'local luanest_n, luanest_calls = 0, tonumber(ARGV[1])\n' +
    TIME_LUA +
    (timed ? STAMP_LUA : '') +
    lines(rewriteBody(shared)) +
    `local function luanest_call(${parameters})\n${rewriteBody(source, places)}\nend\n` +
    (finish === '' ? '' : `local function luanest_finish(luanest_k)\n${rewriteBody(finish, [])}\nend\n`) +
    (tagged ? TAG_LUA : '') +
    recordLua(tagged) +
    (slices ? sliceLoop(timed) : offsetLoop(shape, timed, finish !== ''))
  );
}
