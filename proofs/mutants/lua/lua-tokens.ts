export interface LuaToken {
  readonly kind: 'string' | 'name' | 'number' | 'symbol';
  readonly text: string;
}

const LONG_COMMENT = /--\[(?<c>=*)\[[\s\S]*?\]\k<c>\]/;
const LONG_STRING = /\[(?<s>=*)\[[\s\S]*?\]\k<s>\]/;
// Lua reads a backslash before CR LF as one escaped line break.
const SHORT_STRING = /'(?:\\\r\n|\\[\s\S]|[^'\\\n])*'|"(?:\\\r\n|\\[\s\S]|[^"\\\n])*"/;
const NUMBER = /0[xX][\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?/;
const PATTERN = new RegExp(
  [
    String.raw`\s+`,
    String.raw`${LONG_COMMENT.source}|--[^\r\n]*`,
    `${LONG_STRING.source}|${SHORT_STRING.source}`,
    String.raw`[A-Za-z_]\w*`,
    NUMBER.source,
    String.raw`[\s\S]`,
  ].join('|'),
  'gy',
);

/** Lua split into tokens. */
export interface LuaCode {
  /** Texts of all tokens. Joined, they are the source again. */
  readonly texts: readonly string[];
  /** The tokens without spaces and comments. */
  readonly code: readonly LuaToken[];
  /** Index in `texts` of each token of `code`. */
  readonly places: readonly number[];
}

/** Splits Lua 5.1 source into tokens. */
export function splitLua(source: string): LuaCode {
  const texts: readonly string[] = source.match(PATTERN) ?? [];
  const code: LuaToken[] = [];
  const places: number[] = [];
  for (const [at, text] of texts.entries()) {
    const kind = kindOf(text);
    if (kind === undefined) continue;
    places.push(at);
    code.push({ kind, text });
  }
  return { texts, code, places };
}

const [TAB, RETURN, SPACE, DOUBLE_QUOTE, SINGLE_QUOTE, MINUS, OPEN] = [9, 13, 32, 34, 39, 45, 91] as const;

/**
 * Returns the kind of a text that PATTERN matched; undefined for spaces and comments. A quote or bracket alone is a symbol, because
 * no string begins there.
 */
function kindOf(text: string): LuaToken['kind'] | undefined {
  const first = text.charCodeAt(0);
  if ((first >= 97 && first <= 122) || (first >= 65 && first <= 90) || first === 95) return 'name';
  if (first === SPACE || (first >= TAB && first <= RETURN)) return undefined;
  if (first >= 48 && first <= 57) return 'number';
  if (first === MINUS) return text.length > 1 ? undefined : 'symbol';
  if (first === DOUBLE_QUOTE || first === SINGLE_QUOTE || first === OPEN) return text.length > 1 ? 'string' : 'symbol';
  // Spaces that are not ASCII.
  return first > 127 && /^\s/.test(text) ? undefined : 'symbol';
}
