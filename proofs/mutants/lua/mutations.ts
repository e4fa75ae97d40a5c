import type { Range } from './expression-parser';
import { parse, type Statement, type Syntax } from './syntax';

/** One small change of a file of Lua. */
export interface Mutation extends Range {
  /** The sort of change, in words. */
  readonly kind: string;
  /** Text that replaces the range. */
  readonly text: string;
  /** Start of the innermost statement that it is in. A test that does not run this statement cannot notice the mutation. */
  readonly statement: number;
}

const TURNED: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '==': '~=',
  '~=': '==',
  and: 'or',
  or: 'and',
  not: '',
  true: 'false',
  false: 'true',
};
const TTL_COMMANDS = /^['"](P?EXPIRE(AT)?)['"]$/;
const TTL_OPTIONS = /^['"](P?X|E?X|P?XAT|E?XAT)['"]$/;

/** Numbers of keys and arguments that a script declares. */
export interface Counts {
  readonly KEYS: number;
  readonly ARGV: number;
}

/** Returns the mutations of a source, no two with the same result. */
export function mutationsOf(source: string, counts: Counts): Mutation[] {
  const syntax = parse(source);
  const starts = flat(syntax.statements);
  const statementAt = (at: number): number =>
    starts.filter(({ from, to }) => from <= at && at < to).reduce((last, { from }) => Math.max(last, from), 0);
  const found = [
    ...syntax.statements.flatMap((statement) => drops(statement, source, syntax)),
    ...lostTtls(syntax, source),
    ...turnedOperators(syntax),
    ...changedConstants(syntax),
    ...swappedIndexes(syntax, counts),
  ];
  const results = new Set([source]);
  return found
    .map((change) => ({ ...change, statement: statementAt(change.from) }))
    .filter((mutation) => {
      const result = mutated(source, mutation);
      return !results.has(result) && results.add(result);
    })
    .sort((one, other) => one.from - other.from);
}

export function mutated(source: string, { from, to, text }: Pick<Mutation, 'from' | 'to' | 'text'>): string {
  return source.slice(0, from) + text + source.slice(to);
}

/** Returns the starts of all statements, inner ones too, from first to last. */
export function statementStarts(source: string): number[] {
  return flat(parse(source).statements)
    .map(({ from }) => from)
    .sort((one, other) => one - other);
}

type Change = Omit<Mutation, 'statement'>;

function flat(statements: readonly Statement[]): Statement[] {
  return statements.flatMap((one) => [one, ...one.blocks.flatMap(flat)]);
}

function drops(statement: Statement, source: string, syntax: Syntax): Change[] {
  const { from, to, kind, blocks, namesEnd } = statement;
  // Without its only statement, an `if` does nothing: the same as without the `if`.
  const onlyOne = kind === 'if' && blocks.length === 1 && blocks[0]?.length === 1 && blocks[0][0]?.blocks.length === 0;
  const inner = onlyOne ? [] : blocks.flatMap((block) => block.flatMap((one) => drops(one, source, syntax)));
  if (kind === 'function') return inner;
  if (kind === 'local') {
    return namesEnd === undefined || namesEnd === to
      ? inner
      : [{ kind: 'value not set', from: namesEnd, to, text: '' }, ...inner];
  }
  const call = syntax.calls.find((one) => one.from === from && one.to === to);
  const isTtl = kind === 'call' && TTL_COMMANDS.test(textOf(source, call?.args[0]));
  return [{ kind: isTtl ? 'TTL not set' : 'statement dropped', from, to, text: '' }, ...inner];
}

/** TTLs that are arguments of another command: 'PX', ttl. */
function lostTtls({ calls }: Syntax, source: string): Change[] {
  return calls.flatMap(({ callee, args }) => {
    const at = args.findIndex((arg, index) => index > 0 && TTL_OPTIONS.test(textOf(source, arg)));
    const [before, value] = [args[at - 1], args[at + 1]];
    if (!/^redis\.p?call$/.test(callee) || before === undefined || value === undefined) return [];
    return [{ kind: 'TTL not set', from: before.to, to: value.to, text: '' }];
  });
}

function turnedOperators({ operators }: Syntax): Change[] {
  return operators.map(({ from, to, text }) => ({
    kind: text === 'not' ? 'not dropped' : text === 'and' || text === 'or' ? 'and/or swapped' : 'comparison turned',
    from,
    to,
    text: TURNED[text] as string,
  }));
}

function changedConstants({ constants }: Syntax): Change[] {
  return constants.map(({ from, to, text }) =>
    text === 'true' || text === 'false'
      ? { kind: 'boolean turned', from, to, text: TURNED[text] as string }
      : { kind: 'constant off by one', from, to, text: String(Number(text) + 1) },
  );
}

function swappedIndexes({ indexes }: Syntax, counts: Counts): Change[] {
  return indexes.flatMap(({ table, number: { from, to, text } }) => {
    const count = counts[table];
    if (count < 2) return [];
    const other = (Number(text) % count) + 1;
    return [{ kind: table === 'KEYS' ? 'key swapped' : 'argument swapped', from, to, text: String(other) }];
  });
}

function textOf(source: string, range: Range | undefined): string {
  return range === undefined ? '' : source.slice(range.from, range.to);
}
