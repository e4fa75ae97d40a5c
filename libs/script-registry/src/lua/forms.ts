import { createHash } from 'node:crypto';
import { offsetLoop, recordLua, sliceLoop, type ScriptShape } from './group-loop';
import { loneReply, taggedReply } from './lone-reply';
import { encodeReturns } from './returns';
import { SourceLines } from './source-lines';
import {
  isField,
  isTimeCall,
  literalIndex,
  readsTimeOnce,
  type SourceUse,
  sourceUse,
  TIME_CALL_LENGTH,
} from './source-use';
import { splitLua, withoutComments, type LuaToken } from './tokens';
import {
  captures,
  FINISHED_LUA,
  inline,
  LONE_STAMP_LUA,
  LONE_TIME_LUA,
  OWN_TIME_LUA,
  PROBLEM_LUA,
  SHARED_TIME_LUA,
  STAMP_LUA,
  TAG_LUA,
} from './wrapper';

/** Text of a script. Its forms, the Lua bodies that Redis gets, are made from it. */
export interface ScriptText {
  readonly source: string;
  /** Lua that runs once for all calls of a group; '' for none. */
  readonly shared: string;
  /** Lua that runs after all calls of a group, with the keys of each call, or once if all have the same keys; '' for none. */
  readonly finish: string;
  /** True if the reply must contain Redis' time. */
  readonly timed: boolean;
  readonly flags: readonly string[];
}

/** A form of a script: the body for SCRIPT LOAD, and its SHA1 hash. */
export interface LoadableScript {
  readonly body: string;
  readonly sha: string;
  /** Converts line numbers of the body to those of the script. */
  readonly lines: SourceLines;
}

/** The form of a call sent alone. */
export interface LoneScript extends LoadableScript {
  /** See EncodedReturns. */
  readonly plain: boolean;
}

interface Rewriting {
  /** Lua expression for the index of each argument in a group's ARGV. Undefined: KEYS and ARGV are not changed. */
  readonly argIndexes?: readonly string[];
  /** Lua expression that replaces `redis.call('TIME')`. Undefined: it is not changed. */
  readonly time: string | undefined;
  /** True: `redis.call(` becomes `luanest_redis_call(`. */
  readonly calls: boolean;
}

/**
 * Returns, for each argument of a call, the Lua expression for its index in a group's ARGV: `luanest_c+1`, `luanest_c+2` and so on
 * for arguments that are declared `common`, `luanest_a+1` and so on for all others.
 */
function argIndexesOf(fixedArgs: readonly boolean[]): string[] {
  const counts = { luanest_a: 0, luanest_c: 0 };
  return fixedArgs.map((common) => {
    const block = common ? 'luanest_c' : 'luanest_a';
    return `${block}+${(counts[block] += 1)}`;
  });
}

/** Changes Lua for a form. Line breaks stay. */
function rewrite(source: string, { argIndexes, time, calls }: Rewriting): string {
  if (argIndexes === undefined && time === undefined && !calls) return source;
  const split = splitLua(source);
  const { code, places } = split;
  const texts = [...split.texts];
  const replace = (from: number, to: number, text: string): void => {
    for (let i = from; i <= to; i++) texts[places[i] as number] = i === from ? text : '';
  };
  for (let i = 0; i < code.length; i++) {
    const { kind, text } = code[i] as LuaToken;
    if (kind !== 'name' || isField(code, i)) continue;
    if (time !== undefined && isTimeCall(code, i)) replace(i, i + TIME_CALL_LENGTH - 1, time);
    else if (calls && text === 'redis' && code[i + 2]?.text === 'call' && code[i + 3]?.text === '(')
      replace(i, i + 2, 'luanest_redis_call');
    if (!argIndexes || (text !== 'KEYS' && text !== 'ARGV')) continue;
    const use = literalIndex(code, i);
    if (use) replace(i, use.end, `${text}[${text === 'KEYS' ? `luanest_k+${use.index}` : argIndexes[use.index - 1]}]`);
  }
  return texts.join('');
}

/**
 * Returns the `#!lua` line. With this line Redis 7 refuses a script that must not write now (such as on a replica, or while
 * memory is full) before it runs, instead of at its first write.
 */
function shebang(flags: readonly string[]): string {
  return flags.length === 0 ? '#!lua\n' : `#!lua flags=${flags.join(',')}\n`;
}

/** Parts of a form. Lua that luanest adds is put on one line, so that a script has the same line numbers in each form. */
interface Parts {
  readonly flags: readonly string[];
  /** Lua that luanest puts before any Lua of the script: declarations of locals. */
  readonly before: readonly string[];
  /** Globals that are declared as locals of the same name, which are faster. */
  readonly aliases?: readonly string[];
  readonly shared: string;
  /** Parameters of the function that holds the source. Undefined: the source is not in a function. */
  readonly parameters?: string;
  readonly source: string;
  readonly finish?: string;
  readonly finishParameters?: string;
  /** Lua that runs the calls and returns the reply. */
  readonly after?: readonly string[];
}

function assemble(parts: Parts): LoadableScript {
  const { flags, before, aliases, shared, parameters, source, finish = '', finishParameters = '', after = [] } = parts;
  const code = [
    shared === '' ? '' : `${shared}\n`,
    parameters === undefined ? source : `local function luanest_call(${parameters}) ${source}\nend `,
    finish === '' ? '' : `local function luanest_finish(${finishParameters}) ${finish}\nend `,
    after.map(inline).join(' '),
  ].join('');
  const start = before.map(inline).join(' ');
  const body = `${shebang(flags)}${[captures(start + code, aliases), start, code].filter(Boolean).join(' ')}\n`;
  const sha = createHash('sha1').update(body).digest('hex');
  return { body, sha, lines: new SourceLines(shared, source, finish) };
}

/**
 * Makes the form of a call sent alone. Comments are removed, and the result is encoded, either at each `return` or by Lua around
 * the source. The rest of the script's Lua is changed only if the script is `timed`, so that `reply` gets the same time that the
 * script reads.
 */
function singleForm(script: ScriptText, tagged: boolean, use: SourceUse): LoneScript {
  const { timed, finish, flags } = script;
  const once = (): boolean => readsTimeOnce(script.shared, script.source, finish);
  const time = !timed || !use.readsTime ? undefined : once() ? 'luanest_now' : 'luanest_time()';
  const text = (lua: string): string => rewrite(lua, { time, calls: false });
  const [shared, source] = [text(script.shared), text(script.source)];
  const before = timed ? [LONE_STAMP_LUA, ...(time === 'luanest_time()' ? [LONE_TIME_LUA] : [])] : [];
  // Without a reason to send calls alone, `redis` has its own meaning.
  const known = { timed, metatables: use.metatables, ownRedis: use.alone === undefined };
  const encoded = tagged || finish !== '' ? undefined : encodeReturns(shared, source, known);
  if (encoded !== undefined) {
    return { ...assemble({ flags, before, shared, source: encoded.source }), plain: encoded.plain };
  }
  const call = finish === '' ? 'luanest_call()' : 'luanest_finished(luanest_xpcall(luanest_call, luanest_note))';
  const form = assemble({
    flags,
    before,
    shared,
    // A vararg function that does not use `...` gets a local table `arg`, which a plain script does not have.
    parameters: use.varargs ? '...' : '',
    source,
    finish: text(finish),
    after: [
      ...(finish === '' ? [] : [PROBLEM_LUA, FINISHED_LUA]),
      ...(tagged ? [TAG_LUA] : []),
      `local reply, b, c, d = ${call}`,
      tagged ? taggedReply(timed) : loneReply(timed, use.metatables),
    ],
  });
  return { ...form, plain: false };
}

/** @param slices true if each call gets its own tables KEYS and ARGV; false if calls read those of the group by offsets */
function groupedForm(
  script: ScriptText,
  shape: ScriptShape,
  tagged: boolean,
  use: SourceUse,
  slices: boolean,
): LoadableScript {
  const { shared, source, finish, timed, flags } = script;
  const rewriting = { time: use.readsTime ? 'luanest_time()' : undefined, calls: true };
  const common = shape.fixedArgs.some(Boolean);
  const time = timed ? SHARED_TIME_LUA : OWN_TIME_LUA;
  return assemble({
    flags,
    // These globals become locals, which are faster, because every call of the group may use them.
    aliases: [...use.onlyCalled, 'KEYS', 'ARGV'],
    before: [
      'local luanest_n, luanest_calls = 0, luanest_tonumber(ARGV[1])',
      ...(timed || use.readsTime ? [time] : []),
      ...(timed ? [STAMP_LUA] : []),
    ],
    shared: rewrite(shared, rewriting),
    parameters: slices ? 'KEYS, ARGV' : `luanest_k, luanest_a${common ? ', luanest_c' : ''}`,
    source: rewrite(source, slices ? rewriting : { ...rewriting, argIndexes: argIndexesOf(shape.fixedArgs) }),
    finish: rewrite(finish, { ...rewriting, argIndexes: [] }),
    finishParameters: 'luanest_k',
    after: [
      PROBLEM_LUA,
      ...(tagged ? [TAG_LUA] : []),
      recordLua(tagged),
      slices ? sliceLoop(timed) : offsetLoop(shape, timed, finish !== ''),
    ],
  });
}

/** The forms of a script, and how its calls are put into a group. */
interface ScriptForms {
  readonly single: LoneScript;
  /** Undefined if calls must be sent alone. */
  readonly group: LoadableScript | undefined;
  /** True if each call of a group gets its own tables KEYS and ARGV. */
  readonly slices: boolean;
}

const made = { plain: new WeakMap<ScriptText, ScriptForms>(), tagged: new WeakMap<ScriptText, ScriptForms>() };

/**
 * Returns the forms of a script. They are made once for each definition.
 *
 * @param groups false if the script declares that calls must be sent alone
 */
export function formsOf(script: ScriptText, shape: ScriptShape, groups: boolean, tagged: boolean): ScriptForms {
  const known = tagged ? made.tagged : made.plain;
  let forms = known.get(script);
  if (forms === undefined) {
    const shared = withoutComments(script.shared);
    const source = withoutComments(script.source);
    const finish = withoutComments(script.finish);
    const text = { ...script, shared, source, finish };
    const use = sourceUse(shared, source, finish);
    const slices = shape.lists || (use.whole && sourceUse(source).whole);
    const grouped = groups && use.alone === undefined;
    forms = {
      single: singleForm(text, tagged, use),
      group: grouped ? groupedForm(text, shape, tagged, use, slices) : undefined,
      slices,
    };
    known.set(script, forms);
  }
  return forms;
}
