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

/** Tokens of the texts that were split last: making the forms of a script splits the same few texts again and again. */
const recent = new Map<string, readonly LuaToken[]>();
const MOST_RECENT = 8;

/** Splits Lua 5.1 source into tokens. Joined, their texts are the source again. */
export function tokenize(source: string): readonly LuaToken[] {
  const known = recent.get(source);
  if (known !== undefined) return known;
  const tokens = (source.match(PATTERN) ?? []).map((text) => ({ kind: kindOf(text), text }));
  if (recent.size >= MOST_RECENT) recent.clear();
  recent.set(source, tokens);
  return tokens;
}

/** Returns the kind of a text that PATTERN matched. A quote or bracket alone is a symbol, because no string begins there. */
function kindOf(text: string): LuaToken['kind'] {
  if (text.startsWith('--')) return 'comment';
  if (/^['"[]/.test(text)) return text.length > 1 ? 'string' : 'symbol';
  if (/^[A-Za-z_]/.test(text)) return 'name';
  if (/^\d/.test(text)) return 'number';
  return /^\s/.test(text) ? 'space' : 'symbol';
}

export function isSignificant(token: LuaToken): boolean {
  return token.kind !== 'space' && token.kind !== 'comment';
}
