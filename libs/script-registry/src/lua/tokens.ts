export interface LuaToken {
  readonly kind: 'space' | 'comment' | 'string' | 'name' | 'number' | 'symbol';
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
  /** Joined, their texts are the source again. */
  readonly tokens: readonly LuaToken[];
  /** The tokens without spaces and comments. */
  readonly code: readonly LuaToken[];
  /** Index in `tokens` of each token of `code`. */
  readonly places: readonly number[];
}

/** The texts that were split last: making the forms of a script splits the same few texts again and again. */
const recent = new Map<string, LuaCode>();
const MOST_RECENT = 8;

/** Splits Lua 5.1 source into tokens. Each process does it for all its scripts at boot, so it is written for speed. */
export function splitLua(source: string): LuaCode {
  const known = recent.get(source);
  if (known !== undefined) return known;
  const tokens: LuaToken[] = [];
  const code: LuaToken[] = [];
  const places: number[] = [];
  for (const text of source.match(PATTERN) ?? []) {
    const token = { kind: kindOf(text), text };
    if (isSignificant(token)) {
      places.push(tokens.length);
      code.push(token);
    }
    tokens.push(token);
  }
  const split = { tokens, code, places };
  if (recent.size >= MOST_RECENT) recent.clear();
  recent.set(source, split);
  return split;
}

const [TAB, RETURN, SPACE, DOUBLE_QUOTE, SINGLE_QUOTE, MINUS, OPEN] = [9, 13, 32, 34, 39, 45, 91] as const;

/** Returns the kind of a text that PATTERN matched. A quote or bracket alone is a symbol, because no string begins there. */
function kindOf(text: string): LuaToken['kind'] {
  const first = text.charCodeAt(0);
  if ((first >= 97 && first <= 122) || (first >= 65 && first <= 90) || first === 95) return 'name';
  if (first === SPACE || (first >= TAB && first <= RETURN)) return 'space';
  if (first >= 48 && first <= 57) return 'number';
  if (first === MINUS) return text.length > 1 ? 'comment' : 'symbol';
  if (first === DOUBLE_QUOTE || first === SINGLE_QUOTE || first === OPEN) return text.length > 1 ? 'string' : 'symbol';
  // Spaces that are not ASCII.
  return first > 127 && /^\s/.test(text) ? 'space' : 'symbol';
}

function isSignificant(token: LuaToken): boolean {
  return token.kind !== 'space' && token.kind !== 'comment';
}
