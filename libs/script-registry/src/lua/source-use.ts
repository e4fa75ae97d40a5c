import { isSignificant, tokenize, type LuaToken } from './tokens';

/** Whether the name at `at` is a field of a table, and so no global. */
export function isField(tokens: readonly LuaToken[], at: number): boolean {
  return ['.', ':'].includes(tokens[at - 1]?.text ?? '') && tokens[at - 2]?.text !== '.';
}

/** Index of the closing bracket of `NAME [ number ]` that starts at `at`, and the number; undefined for any other use. */
export function literalIndex(tokens: readonly LuaToken[], at: number): { end: number; index: number } | undefined {
  const [open, number, close] = [tokens[at + 1], tokens[at + 2], tokens[at + 3]];
  if (open?.text !== '[' || number?.kind !== 'number' || close?.text !== ']') return undefined;
  return { end: at + 3, index: Number(number.text) };
}

/** What a script's source says of its own parameters. */
interface SourceUse {
  /** Literal indexes in `KEYS[n]`. */
  readonly keyIndexes: readonly number[];
  /** Literal indexes in `ARGV[n]`. */
  readonly argIndexes: readonly number[];
  /** Whether KEYS or ARGV appear other than with a literal index. */
  readonly loops: boolean;
  /** Whether calls may share one run: false where a script changes or looks at what its neighbours would share. */
  readonly groupable: boolean;
}

/** Names that reach past the body: into the state of the interpreter, or to KEYS and ARGV by another way. */
const REACHING = /^(set_repl|setresp|loadstring|load|_G|getfenv|setfenv|luanest_\w*)$/;
/** Names that the grouped form gives a meaning of its own; a script that gives them another one runs alone. */
const OURS = ['redis', 'tonumber', 'type', 'pcall', 'KEYS', 'ARGV'];

function reaches(tokens: readonly LuaToken[], at: number): boolean {
  const { kind, text } = tokens[at] as LuaToken;
  if (kind === 'symbol') return text === '.' && tokens[at + 1]?.text === '.' && tokens[at + 2]?.text === '.';
  if (kind !== 'name') return false;
  if (REACHING.test(text)) return true;
  if (!OURS.includes(text) || isField(tokens, at)) return false;
  const [before, after] = [tokens[at - 1]?.text ?? '', tokens[at + 1]?.text ?? ''];
  const assigned = after === '=' && tokens[at + 2]?.text !== '=';
  return assigned || ['local', 'function', 'for'].includes(before) || isParameter(tokens, at);
}

/** Whether a name stands among the parameters of a function, or among several names that are declared at once. */
function isParameter(tokens: readonly LuaToken[], at: number): boolean {
  let i = at - 1;
  while (tokens[i]?.text === ',' && tokens[i - 1]?.kind === 'name') i -= 2;
  if (tokens[i]?.text === 'local' || tokens[i]?.text === 'for') return true;
  if (tokens[i]?.text !== '(') return false;
  while (
    ['name', 'symbol'].includes(tokens[i - 1]?.kind ?? '') &&
    !['function', ')'].includes(tokens[i - 1]?.text ?? '')
  ) {
    if (tokens[i - 1]?.kind === 'symbol' && !['.', ':'].includes(tokens[i - 1]?.text ?? '')) return false;
    i -= 1;
  }
  return tokens[i - 1]?.text === 'function';
}

/** Reads how a script uses KEYS and ARGV, comments and strings left aside. */
export function sourceUse(source: string): SourceUse {
  const tokens = tokenize(source).filter(isSignificant);
  const indexes = { KEYS: [] as number[], ARGV: [] as number[] };
  let [loops, groupable] = [false, true];
  for (let i = 0; i < tokens.length; i++) {
    const { kind, text } = tokens[i] as LuaToken;
    if (reaches(tokens, i)) groupable = false;
    if (kind !== 'name' || (text !== 'KEYS' && text !== 'ARGV') || isField(tokens, i)) continue;
    const use = literalIndex(tokens, i);
    if (use === undefined) loops = true;
    else indexes[text].push(use.index);
  }
  return { keyIndexes: indexes.KEYS, argIndexes: indexes.ARGV, loops, groupable };
}
