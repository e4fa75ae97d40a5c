import type { Redis } from 'ioredis';
import {
  bytes,
  defineScript,
  int,
  list,
  str,
  type ScriptDefinition,
  type ScriptRegistry,
} from 'luanest/script-registry';
import { openRegistry } from '../support';
import { COUNT, COUNT_IN_GROUP, FINISH, PENDING, type FuzzCall, type FuzzProgram } from './generator';

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

/** The Lua of a program: what EVAL runs, and what calls sent alone run. */
function sourceOf({ shared, body, finishes }: FuzzProgram): string {
  // A program that finishes has another first line in groups.
  const above = finishes ? ['-- pending', ...shared] : shared;
  return [...(above.length > 0 ? [...above, '-- @call'] : []), ...body].join('\n');
}

/** The Lua for groups of a program that finishes; each line is where it is in `sourceOf`. */
function groupSourceOf({ shared, body }: FuzzProgram): string {
  const calls = body.map((line) => (line === COUNT ? COUNT_IN_GROUP : line));
  return [PENDING, ...shared, '-- @call', ...calls, '-- @finish', FINISH].join('\n');
}

const linesIn = (text: string): number => text.split('\n').length;

/**
 * An integer, null, text or bytes, or an array of these, in a form that Jest shows well. After `redis.setresp(3)` a script may return a
 * boolean, which is a number in RESP2.
 */
function shownValue(raw: unknown): unknown {
  if (typeof raw === 'boolean') return Number(raw);
  if (Buffer.isBuffer(raw)) return `bytes ${raw.toString('hex')}`;
  if (Array.isArray(raw)) return raw.map(shownValue);
  if (raw instanceof Error) return `error ${raw.message}`;
  return raw;
}

function asText(raw: unknown): unknown {
  if (Buffer.isBuffer(raw)) return raw.toString();
  return Array.isArray(raw) ? raw.map(asText) : raw;
}

/** ioredis gives big numbers of RESP3 as text. */
function asBytes(raw: unknown): unknown {
  if (typeof raw === 'string') return Buffer.from(raw);
  return Array.isArray(raw) ? raw.map(asBytes) : raw;
}

const TAIL = / script: (?:[0-9a-f]{40}, )?on @user_script:(\d+)\.$/;
/** In a group the source is a function, and KEYS its parameter, so what Lua calls local or global may be an upvalue. */
const NAMED = /\b(?:global|upvalue|local) '(\w+)'/g;
const POSITION = /\buser_script:(\d+): /g;

/** Returns the outcome that the registry should report for an error of EVAL. */
function plainError(program: FuzzProgram, message: string): Outcome {
  const line = TAIL.exec(message)?.[1];
  const text = message.replace(TAIL, '').replaceAll(POSITION, (_, at: string) => `user_script:${Number(at) - 1}: `);
  return outcomeOf(program, text, line === undefined ? undefined : Number(line) - 1);
}

function registryError(program: FuzzProgram, name: string, error: unknown): Outcome {
  const { message, code } = error as Error & { code: string };
  // Of an error with the code of a refusal, which the script returned, it is not known that the script ran.
  const [, unknown] = /: the reply was "(.*)"\. Repeat the call only/.exec(message) ?? [];
  if (code === 'UNKNOWN_OUTCOME' && unknown !== undefined) return outcomeOf(program, unknown, undefined);
  if (code !== 'SCRIPT_FAILED') return { error: `${code} ${message}`, at: undefined };
  const text = message.replace(`The script ${name} failed: `, '');
  const [tail, line] = / \(user_script:(\d+)\)$/.exec(text) ?? [];
  const own = tail === undefined ? text : text.slice(0, -tail.length);
  return outcomeOf(program, own, line === undefined ? undefined : Number(line));
}

/** Splits an error into its text and where it was raised. An error of level 2 at the top is raised by what runs the program. */
function outcomeOf(program: FuzzProgram, text: string, line: number | undefined): Outcome {
  const last = linesIn(sourceOf(program));
  let at = line;
  const bare = text.replaceAll(POSITION, (_, found: string) => {
    const inProgram = Number(found) >= 1 && Number(found) <= last;
    if (inProgram) at ??= Number(found);
    return inProgram ? `user_script:${found}: ` : '';
  });
  const coded = /^[A-Z][A-Z0-9_]+ /.test(bare) ? bare : `ERR ${bare}`;
  return { error: clean(coded), at: at === undefined || at > last ? undefined : String(at) };
}

function clean(message: string): string {
  return message
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll(NAMED, "variable '$1'")
    .replace(/\.?\s*$/, '');
}

interface Prepared {
  readonly program: FuzzProgram;
  readonly script: ScriptDefinition;
  readonly name: string;
  readonly keysOf: (call: FuzzCall) => string[];
}

function prepare(program: FuzzProgram): Prepared {
  const id = ++run;
  const name = `fuzz.p${id}`;
  const { lists, finishes, replyBytes } = program;
  const script = defineScript({
    name,
    keys: lists ? ['one', 'more[]'] : ['one', 'two'],
    args: lists ? { value: bytes, count: int, rest: list(str) } : { value: bytes, count: int, rule: str },
    source: sourceOf(program),
    group: finishes ? { source: groupSourceOf(program) } : undefined,
    replyBytes: replyBytes as true,
    reply: (raw: unknown) => raw,
  }) as unknown as ScriptDefinition;
  return { program, script, name, keysOf: ({ subject }) => [`{p${id}:${subject}}`, `{p${id}:${subject}}:two`] };
}

async function runPlain(client: Redis, { program, keysOf }: Prepared): Promise<Outcome[]> {
  const source = `#!lua\n${sourceOf(program)}`;
  const answers = await Promise.allSettled(
    program.calls.map((call) => {
      const keys = keysOf(call);
      const args = [call.value, String(call.count), call.rule];
      return client.callBuffer('EVAL', source, String(keys.length), ...keys, ...args);
    }),
  );
  return answers.map((answer) => {
    if (answer.status === 'rejected') return plainError(program, (answer.reason as Error).message);
    return { value: shownValue(program.replyBytes ? asBytes(answer.value) : asText(answer.value)) };
  });
}

async function runRegistry(registry: ScriptRegistry, prepared: Prepared): Promise<Outcome[]> {
  const { program, script, name, keysOf } = prepared;
  const calls = program.calls.map(async (call): Promise<Outcome> => {
    const [one, two] = keysOf(call);
    const { value, count, rule } = call;
    const input = program.lists
      ? { keys: { one, more: [two] }, args: { value, count, rest: [rule] } }
      : { keys: { one, two }, args: { value, count, rule } };
    try {
      return { value: shownValue(await registry.run(script, input as never)) };
    } catch (error) {
      return registryError(program, name, error);
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

/** Every key of every database: its bytes and its time to live. Of times only that they are there: they differ. */
async function keyspace(client: Redis): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const db of [0, 3]) {
    await client.select(db);
    const keys = await client.keysBuffer('*');
    const rows = await Promise.all(
      keys.map((key) =>
        key.includes(':times')
          ? Promise.resolve('a time')
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
      // `-- @finish` needs it.
      if (program[part][i] !== COUNT) yield { ...program, [part]: program[part].toSpliced(i, 1) };
    }
  }
  if (program.lists) yield { ...program, lists: false };
}

/** A program as text that can be read and run. */
export function describeProgram({ program, what }: Difference): string {
  const { calls, finishes, lists, replyBytes } = program;
  return [
    what,
    `options: ${JSON.stringify({ lists, replyBytes, finishes })}`,
    `source:\n${sourceOf(program)}`,
    ...(finishes ? [`group.source:\n${groupSourceOf(program)}`] : []),
    `calls: ${calls.map(({ subject, value, count, rule }) => `${subject}/${value.toString('hex')}/${count}/${rule}`).join(' ')}`,
  ].join('\n');
}
