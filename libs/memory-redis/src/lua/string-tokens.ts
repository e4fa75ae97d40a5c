/** A string or a long comment (`--[[ ]]`) that was read from a source. */
export interface ReadText {
  /** Text in which each character stands for one byte; undefined if the token is invalid. */
  readonly text: string | undefined;
  /** Text by which error messages show the token. */
  readonly near: string;
  /** Error of an invalid token: 'unfinished', or the whole message. */
  readonly problem?: string;
  /** Index of the character after the token. */
  readonly end: number;
  /** Number of line breaks in the token. */
  readonly lines: number;
}

const PLAIN = /[^\\\r\n"']*/y;
const NEWLINES = /\r\n|\n\r|\n|\r/g;
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Reads a string in quotes. @param from index of the opening quote */
export function readShortText(source: string, from: number): ReadText {
  const quote = source.charAt(from);
  let text = '';
  let lines = 0;
  for (let at = from + 1; ;) {
    PLAIN.lastIndex = at;
    const [plain = ''] = PLAIN.exec(source) ?? [];
    text += plain;
    at += plain.length;
    const char = source.charAt(at);
    if (char === quote) return { text, near: quote + text + quote, end: at + 1, lines };
    const isLast = char === '' || (char === '\\' && at + 1 === source.length);
    if (isLast) return { text: undefined, problem: 'unfinished', near: '<eof>', end: source.length, lines };
    if (char === '\n' || char === '\r') {
      return { text: undefined, problem: 'unfinished', near: quote + text, end: at, lines };
    }
    at++;
    if (char !== '\\') {
      text += char;
      continue;
    }
    const digits = /^\d{1,3}/.exec(source.slice(at, at + 3))?.[0];
    if (digits !== undefined) {
      if (Number(digits) > 255) {
        return { text: undefined, problem: 'escape sequence too large', near: quote + text, end: at, lines };
      }
      text += String.fromCharCode(Number(digits));
      at += digits.length;
      continue;
    }
    const escaped = source.charAt(at);
    const width = newlineAt(source, at);
    if (width > 0) lines++;
    text += width > 0 ? '\n' : (ESCAPES[escaped] ?? escaped);
    at += Math.max(width, 1);
  }
}

/** Reads a string in long brackets, such as [[text]], or a long comment after its `--`. @param from index of the first bracket */
export function readLongText(source: string, from: number): ReadText {
  let level = 0;
  while (source.charAt(from + 1 + level) === '=') level++;
  const signs = '='.repeat(level);
  const opening = `[${signs}[`;
  if (source.charAt(from + 1 + level) !== '[') {
    const near = `[${signs}`;
    return { text: undefined, problem: 'invalid long string delimiter', near, end: from + near.length, lines: 0 };
  }
  const start = from + opening.length;
  const close = source.indexOf(`]${signs}]`, start);
  const end = close < 0 ? source.length : close;
  const raw = source.slice(start, end);
  const lines = newlinesOf(raw);
  if (close < 0) return { text: undefined, problem: 'unfinished', near: '<eof>', end, lines };
  const text = raw.slice(newlineAt(raw, 0)).replace(NEWLINES, '\n');
  return { text, near: `${opening}${text}]${signs}]`, end: close + opening.length, lines };
}

/** Returns the length of the line break at an index: 1 or 2; 0 if there is none. */
function newlineAt(text: string, at: number): number {
  const [first, second] = [text.charAt(at), text.charAt(at + 1)];
  if (first !== '\n' && first !== '\r') return 0;
  return second !== first && (second === '\n' || second === '\r') ? 2 : 1;
}

function newlinesOf(text: string): number {
  return text.match(NEWLINES)?.length ?? 0;
}
