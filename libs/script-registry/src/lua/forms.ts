import { createHash } from 'node:crypto';
import { offsetLoop, recordLua, sliceLoop, type ScriptShape } from './group-loop';
import { loneReply, taggedReply } from './lone-reply';
import { SourceLines } from './source-lines';
import { isField, isTimeCall, literalIndex, sourceUse, TIME_CALL_LENGTH } from './source-use';
import { isSignificant, tokenize, type LuaToken } from './tokens';
import { captures, inline, OWN_TIME_LUA, PROBLEM_LUA, SHARED_TIME_LUA, STAMP_LUA, TAG_LUA } from './wrapper';

/** What a form is made from. */
export interface ScriptText {
  readonly source: string;
  /** Runs once for all calls of a group; '' for none. */
  readonly shared: string;
  /** Runs after all calls of a group, for each set of keys; '' for none. */
  readonly finish: string;
  /** Whether the reply carries Redis' time. */
  readonly timed: boolean;
  readonly flags: readonly string[];
}

/** Source ready for SCRIPT LOAD, and the SHA that Redis will know it by. */
export interface LoadableScript {
  readonly body: string;
  readonly sha: string;
  /** Finds the line of the script that a line of the body is. */
  readonly lines: SourceLines;
}

/** How the source of a script is changed: where its parameters lie, and whether the registry reads TIME for it. */
interface Rewriting {
  /** For `KEYS[n]` and `ARGV[n]`: where each argument lies. Undefined to leave both as they are. */
  readonly places?: readonly string[];
  readonly time: boolean;
  readonly calls: boolean;
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

/** Rewrites Lua for use in a form: indexes, TIME, calls of Redis. Line breaks stay, comments go. */
function rewrite(source: string, { places, time, calls }: Rewriting): string {
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
    if (kind !== 'name' || isField(code, i)) continue;
    if (time && isTimeCall(code, i)) replace(i, i + TIME_CALL_LENGTH - 1, 'luanest_time()');
    else if (calls && text === 'redis' && code[i + 2]?.text === 'call' && code[i + 3]?.text === '(')
      replace(i, i + 2, 'luanest_redis_call');
    if (!places || (text !== 'KEYS' && text !== 'ARGV')) continue;
    const use = literalIndex(code, i);
    if (use) replace(i, use.end, `${text}[${text === 'KEYS' ? `luanest_k+${use.index}` : places[use.index - 1]}]`);
  }
  return texts.join('');
}

/** The `#!lua` line: it makes Redis 7 refuse a script before it runs rather than in its middle. */
function shebang(flags: readonly string[]): string {
  return flags.length === 0 ? '#!lua\n' : `#!lua flags=${flags.join(',')}\n`;
}

/** The pieces of a form. Those of the registry have one line each, so that a script's lines are the same in each form. */
interface Parts {
  readonly flags: readonly string[];
  /** Locals of the registry that come before anything of the script. */
  readonly before: readonly string[];
  readonly aliases?: readonly string[];
  readonly shared: string;
  /** Parameters of the function that holds the source. */
  readonly parameters: string;
  readonly source: string;
  readonly finish: string;
  readonly finishParameters: string;
  /** What runs the calls. */
  readonly after: readonly string[];
}

function assemble(parts: Parts): LoadableScript {
  const { flags, before, aliases, shared, parameters, source, finish, finishParameters, after } = parts;
  const code = [
    shared === '' ? '' : `${shared}\n`,
    `local function luanest_call(${parameters}) ${source}\nend `,
    finish === '' ? '' : `local function luanest_finish(${finishParameters}) ${finish}\nend `,
    after.map(inline).join(' '),
  ].join('');
  const start = before.map(inline).join(' ');
  const body = `${shebang(flags)}${[captures(start + code, aliases), start, code].filter(Boolean).join(' ')}\n`;
  const sha = createHash('sha1').update(body).digest('hex');
  return { body, sha, lines: new SourceLines(shared, source, finish) };
}

/** The form of a lone call. Only a timed one is rewritten, so that `reply` gets the time that the script itself reads. */
export function singleForm(script: ScriptText, tagged: boolean): LoadableScript {
  const { timed, finish, shared, source } = script;
  const use = sourceUse(shared, source, finish);
  const text = (lua: string): string => rewrite(lua, { time: timed && use.readsTime, calls: false });
  const call = finish === '' ? 'luanest_call()' : 'luanest_finished(luanest_xpcall(luanest_call, luanest_note))';
  return assemble({
    flags: script.flags,
    before: timed ? [SHARED_TIME_LUA, STAMP_LUA] : [],
    shared: text(shared),
    // A vararg function makes a table `arg` where it does not use `...`, which a script of its own does not have.
    parameters: use.varargs ? '...' : '',
    source: text(source),
    finish: text(finish),
    finishParameters: '',
    after: [
      ...(finish === '' ? [] : [PROBLEM_LUA, FINISHED_LUA]),
      ...(tagged ? [TAG_LUA] : []),
      tagged ? taggedReply(call, timed) : loneReply(call, timed, use.metatables),
    ],
  });
}

// See DECISIONS.md: finish-runs-after-the-group
/** `finish` runs whatever the call does, as it would in a group. */
const FINISHED_LUA = `local function luanest_finished(ok, ...)
  luanest_finish()
  if ok then return ... end
  local problem = ...
  return { err = luanest_problem(problem) }
end`;

/** Returns true if each call of a group gets tables of its own for KEYS and ARGV, false if it reads the group's by offsets. */
export function sliced(source: string, shape: ScriptShape): boolean {
  return shape.lists || sourceUse(source).whole;
}

/** The form that runs a whole group of calls in one EVALSHA, made from the same source as the plain one. */
export function groupedForm(script: ScriptText, shape: ScriptShape, tagged: boolean): LoadableScript {
  const { shared, source, finish, timed, flags } = script;
  const slices = sliced(source, shape);
  const use = sourceUse(shared, source, finish);
  const rewriting = { time: use.readsTime, calls: true };
  const common = shape.fixedArgs.some(Boolean);
  const time = timed ? SHARED_TIME_LUA : OWN_TIME_LUA;
  return assemble({
    flags,
    // Locals are found faster than globals and fields, and every call of the group looks them up.
    aliases: [...use.onlyCalled, 'KEYS', 'ARGV'],
    before: [
      'local luanest_n, luanest_calls = 0, luanest_tonumber(ARGV[1])',
      ...(timed || use.readsTime ? [time] : []),
      ...(timed ? [STAMP_LUA] : []),
    ],
    shared: rewrite(shared, rewriting),
    parameters: slices ? 'KEYS, ARGV' : `luanest_k, luanest_a${common ? ', luanest_c' : ''}`,
    source: rewrite(source, slices ? rewriting : { ...rewriting, places: argPlaces(shape.fixedArgs) }),
    finish: rewrite(finish, { ...rewriting, places: [] }),
    finishParameters: 'luanest_k',
    after: [
      PROBLEM_LUA,
      ...(tagged ? [TAG_LUA] : []),
      recordLua(tagged),
      slices ? sliceLoop(timed) : offsetLoop(shape, timed, finish !== ''),
    ],
  });
}
