import type { Redis } from 'ioredis';
import {
  bytes,
  common,
  defineScript,
  int,
  list,
  str,
  type AnyScript,
  type ScriptRegistry,
} from 'luanest/script-registry';
import { formsOf } from '../../src/lua/forms';
import { openRegistry } from '../support';
import { FINISH, type FuzzCall, type FuzzProgram } from './generator';

/** Where programs run: as plain EVAL, by a registry that does not group, by one that does. Nothing else runs there. */
export interface Stages {
  readonly plain: Redis;
  readonly alone: Redis;
  readonly grouped: Redis;
}

/** A program that was not the same everywhere. */
export interface Difference {
  readonly program: FuzzProgram;
  readonly what: string;
}

type Outcome = { readonly value: unknown } | { readonly error: string; readonly at: string | undefined };

let run = 0;

const sharedOf = ({ shared }: FuzzProgram): string => shared.join('\n');
const sourceOf = ({ body }: FuzzProgram): string => body.join('\n');
const linesIn = (text: string): number => (text === '' ? 0 : text.split('\n').length);

/** Returns a program as a plain script for EVAL, with the results that the registry promises: several values are an array, `finish` runs whatever happened. */
function plainSource(program: FuzzProgram): string {
  const [shared, source] = [sharedOf(program), sourceOf(program)];
  const above = shared === '' ? '' : `${shared}\n`;
  if (!program.finishes && !program.several) return `#!lua\n${above}${source}`;
  const head = `#!lua\nlocal plain_type, plain_tostring, plain_xpcall = type, tostring, xpcall ${above}`;
  const start = `${head}local function plain_source(...) ${source}\nend`;
  const several = 'if b ~= nil and a ~= nil then return { a, b, c, d } end return a';
  if (!program.finishes) return `${start} local a, b, c, d = plain_source(...) ${several}`;
  return `${start}
local raised
local ok, a, b, c, d = plain_xpcall(plain_source, function(problem) raised = problem end)
do ${FINISH} end
if not ok then return { err = plain_type(raised) == 'table' and raised.err or 'ERR ' .. plain_tostring(raised) } end
${several}`;
}

/** An integer, null, text or bytes, or an array of these, in a form that Jest shows well. */
function shownValue(raw: unknown): unknown {
  if (Buffer.isBuffer(raw)) return `bytes ${raw.toString('hex')}`;
  if (Array.isArray(raw)) return raw.map(shownValue);
  if (raw instanceof Error) return `error ${raw.message}`;
  return raw;
}

function asText(raw: unknown): unknown {
  if (Buffer.isBuffer(raw)) return raw.toString();
  return Array.isArray(raw) ? raw.map(asText) : raw;
}

const TAIL = / script: [0-9a-f]{40}, on @user_script:(\d+)\.$/;
/** In the registry's Lua the source is a function of its own, so what Lua calls local or global may be an upvalue. */
const NAMED = /\b(?:global|upvalue|local) '(\w+)'/g;

/** Returns the outcome that the registry should report for an error of the plain script. */
function plainError(program: FuzzProgram, message: string): Outcome {
  const shared = linesIn(sharedOf(program));
  const end = shared + linesIn(sourceOf(program));
  // Behind the source is the Lua of `plainSource`, which a script of its own does not have.
  const place = (line: number): string | undefined =>
    line - 1 > end ? undefined : line - 1 > shared ? `user_script:${line - 1 - shared}` : `shared:${line - 1}`;
  const tail = TAIL.exec(message)?.[1];
  const text = message
    .replace(TAIL, '')
    .replace(/^(ERR )?((?:user_script:\d+: )+)/, (_, code: string | undefined, positions: string) => {
      return (
        (code ?? '') +
        positions.replaceAll(/user_script:(\d+): /g, (__, line: string) => {
          const at = place(Number(line));
          return at === undefined ? '' : `${at}: `;
        })
      );
    });
  const coded = /^[A-Z][A-Z0-9_]+ /.test(text) ? text : `ERR ${text}`;
  return { error: clean(coded), at: tail === undefined ? undefined : place(Number(tail)) };
}

function clean(message: string): string {
  return message
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll(NAMED, "variable '$1'")
    .trim();
}

function registryError(name: string, error: unknown): Outcome {
  const { message, code } = error as Error & { code: string };
  if (code !== 'SCRIPT_FAILED') return { error: `${code} ${message}`, at: undefined };
  const text = message.replace(`${name} failed: `, '');
  const [, at] = / \(((?:user_script|shared|finish):\d+)\)$/.exec(text) ?? [];
  return { error: clean(at === undefined ? text : text.slice(0, -at.length - 3)), at };
}

interface Prepared {
  readonly program: FuzzProgram;
  readonly script: AnyScript;
  readonly name: string;
  readonly keysOf: (call: FuzzCall) => string[];
}

/** Returns true if no reply of a lone call of the program has marks. */
export function isPlain(program: FuzzProgram): boolean {
  const { timed, finishes } = program;
  const text = {
    shared: sharedOf(program),
    source: sourceOf(program),
    finish: finishes ? FINISH : '',
    timed,
    flags: [],
  };
  return formsOf(text, { fixedKeys: 2, fixedArgs: [], lists: true }, false, false).single.plain;
}

function prepare(program: FuzzProgram): Prepared {
  const id = ++run;
  const name = `fuzz.p${id}`;
  const { lists, finishes, timed, replyBytes } = program;
  const script = defineScript({
    name,
    keys: lists ? ['one', 'more[]'] : ['one', 'two'],
    args: lists ? { value: bytes, count: int, rest: list(str) } : { value: bytes, count: int, rule: common(str) },
    shared: sharedOf(program),
    source: sourceOf(program),
    finish: finishes ? FINISH : '',
    timed,
    replyBytes: replyBytes as true,
    reply: (raw: unknown, atUs) => ({ raw, atUs }),
  }) as unknown as AnyScript;
  return { program, script, name, keysOf: ({ subject }) => [`{p${id}:${subject}}`, `{p${id}:${subject}}:two`] };
}

async function runPlain(client: Redis, { program, keysOf }: Prepared): Promise<Outcome[]> {
  const source = plainSource(program);
  const answers = await Promise.allSettled(
    program.calls.map((call) => {
      const keys = keysOf(call);
      const args = [call.value, String(call.count), call.rule];
      return client.callBuffer('EVAL', source, String(keys.length), ...keys, ...args);
    }),
  );
  return answers.map((answer) => {
    if (answer.status === 'rejected') return plainError(program, (answer.reason as Error).message);
    return { value: shownValue(program.replyBytes ? answer.value : asText(answer.value)) };
  });
}

async function runRegistry(registry: ScriptRegistry, { program, script, name, keysOf }: Prepared): Promise<Outcome[]> {
  const calls = program.calls.map(async (call): Promise<Outcome> => {
    const [one, two] = keysOf(call);
    const { value, count, rule } = call;
    const input = program.lists
      ? { keys: { one, more: [two] }, args: { value, count, rest: [rule] } }
      : { keys: { one, two }, args: { value, count, rule } };
    const startedUs = (Date.now() - 60_000) * 1_000;
    try {
      const { raw, atUs } = (await registry.run(script, input as never)) as { raw: unknown; atUs: number };
      const right = program.timed ? atUs > startedUs && atUs < startedUs + 120_000_000 : Number.isNaN(atUs);
      return right ? { value: shownValue(raw) } : { error: `the time of the call is ${atUs}`, at: undefined };
    } catch (error) {
      return registryError(name, error);
    }
  });
  return Promise.all(calls);
}

/** The bytes of a key. Of a hash its fields in order: each server has an order of its own for those of a large one. */
async function contents(client: Redis, key: Buffer): Promise<string> {
  if ((await client.type(key)) !== 'hash') return (await client.dumpBuffer(key))?.toString('hex') ?? '';
  const flat = (await client.callBuffer('HGETALL', key)) as Buffer[];
  const pairs = flat.flatMap((field, i) =>
    i % 2 === 0 ? [`${field.toString('hex')}=${flat[i + 1]?.toString('hex')}`] : [],
  );
  return pairs.sort().join(' ');
}

/** Every key of every database: its bytes and its time to live. Of sets of times only the size: times differ. */
async function keyspace(client: Redis): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const db of [0, 3]) {
    await client.select(db);
    const keys = await client.keysBuffer('*');
    const rows = await Promise.all(
      keys.map((key) =>
        key.includes(':times')
          ? client.zcard(key).then((size) => `${size} times`)
          : Promise.all([contents(client, key), client.pttl(key)]).then(
              ([held, ttl]) => `${held} ${ttl < 0 ? ttl : Math.round(ttl / 1_000_000)}`,
            ),
      ),
    );
    for (const [i, key] of keys.entries()) found.set(`${db} ${key.toString('latin1')}`, rows[i] as string);
  }
  await client.select(0);
  return found;
}

/** Not every way of running a script knows where an error was raised; where two know, they agree. */
function samePlace(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

function firstDifference(expected: readonly Outcome[], found: readonly Outcome[]): string | undefined {
  for (const [i, outcome] of found.entries()) {
    const plain = expected[i] as Outcome;
    const same =
      'error' in plain
        ? 'error' in outcome && plain.error === outcome.error && samePlace(plain.at, outcome.at)
        : JSON.stringify(plain) === JSON.stringify(outcome);
    if (!same) return `call ${i}: EVAL ${JSON.stringify(plain)}, registry ${JSON.stringify(outcome)}`;
  }
  return undefined;
}

/** Runs the programs in all three ways and returns those that were not the same: replies, errors, and what they stored. */
export async function differences(stages: Stages, programs: readonly FuzzProgram[]): Promise<Difference[]> {
  const prepared = programs.map(prepare);
  const scripts = prepared.map(({ script }) => script);
  const all = Object.values(stages) as Redis[];
  await Promise.all(all.flatMap((client) => [client.flushall(), client.script('FLUSH')]));
  const alone = await openRegistry(stages.alone, { grouping: false, preload: 'required', deadlineMs: 60_000 }, scripts);
  const grouped = await openRegistry(stages.grouped, { preload: 'required', deadlineMs: 60_000 }, scripts);
  const outcomes = await Promise.all(
    prepared.map((one) =>
      Promise.all([runPlain(stages.plain, one), runRegistry(alone, one), runRegistry(grouped, one)]),
    ),
  );
  const [plainKeys, aloneKeys, groupedKeys] = await Promise.all(all.map(keyspace));
  alone.close();
  grouped.close();
  return prepared.flatMap(({ program, keysOf }, i) => {
    const [plain, lone, group] = outcomes[i] as [Outcome[], Outcome[], Outcome[]];
    const own = (keys: Map<string, string> | undefined): [string, string][] => {
      const tags = new Set(program.calls.map((call) => keysOf(call)[0] as string));
      const mine = [...(keys ?? [])].filter(([key]) => tags.has(key.slice(key.indexOf('{'), key.indexOf('}') + 1)));
      return mine.sort(([a], [b]) => (a < b ? -1 : 1));
    };
    const stored = (keys: Map<string, string> | undefined): string | undefined => {
      const [expected, found] = [JSON.stringify(own(plainKeys)), JSON.stringify(own(keys))];
      return expected === found ? undefined : `keys: EVAL ${expected}, registry ${found}`;
    };
    const [byAlone, byGroup] = [
      firstDifference(plain, lone) ?? stored(aloneKeys),
      firstDifference(plain, group) ?? stored(groupedKeys),
    ];
    if (byAlone !== undefined) return [{ program, what: `sent alone, ${byAlone}` }];
    return byGroup === undefined ? [] : [{ program, what: `grouped, ${byGroup}` }];
  });
}

/** Takes statements and calls away while the program still fails. */
export async function smallest(stages: Stages, failing: Difference): Promise<Difference> {
  let best = failing;
  for (let shrunk = true; shrunk;) {
    shrunk = false;
    for (const smaller of reductions(best.program)) {
      const [still] = await differences(stages, [smaller]).catch(() => []);
      if (still === undefined) continue;
      [best, shrunk] = [still, true];
      break;
    }
  }
  return best;
}

function* reductions(program: FuzzProgram): Generator<FuzzProgram> {
  const { calls } = program;
  if (calls.length > 2) yield { ...program, calls: calls.slice(0, -1) };
  if (calls.length > 2) yield { ...program, calls: calls.slice(1) };
  for (const part of ['body', 'shared'] as const) {
    for (let i = 0; i < program[part].length; i++) {
      // `finish` needs it.
      if (!program[part][i]?.includes('pending')) yield { ...program, [part]: program[part].toSpliced(i, 1) };
    }
  }
  for (const option of ['timed', 'lists'] as const) if (program[option]) yield { ...program, [option]: false };
}

/** A program as text that can be read and run. */
export function describeProgram({ program, what }: Difference): string {
  const { calls, finishes, timed, lists, replyBytes } = program;
  return [
    what,
    `options: ${JSON.stringify({ timed, lists, replyBytes, finishes })}`,
    `shared:\n${sharedOf(program)}`,
    `source:\n${sourceOf(program)}`,
    `calls: ${calls.map(({ subject, value, count, rule }) => `${subject}/${value.toString('hex')}/${count}/${rule}`).join(' ')}`,
  ].join('\n');
}
