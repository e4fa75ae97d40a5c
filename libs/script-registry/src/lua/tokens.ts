/** A token of Lua source. */
export interface LuaToken {
  readonly kind: 'space' | 'comment' | 'string' | 'name' | 'number' | 'symbol';
  readonly text: string;
}

const LONG_COMMENT = /--\[(?<c>=*)\[[\s\S]*?\]\k<c>\]/;
const LONG_STRING = /\[(?<s>=*)\[[\s\S]*?\]\k<s>\]/;
const SHORT_STRING = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/;
const NUMBER = /0[xX][\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?/;
const PATTERN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<comment>${LONG_COMMENT.source}|--[^\r\n]*)`,
    `(?<string>${LONG_STRING.source}|${SHORT_STRING.source})`,
    String.raw`(?<name>[A-Za-z_]\w*)`,
    `(?<number>${NUMBER.source})`,
    String.raw`(?<symbol>[\s\S])`,
  ].join('|'),
  'gy',
);

const KINDS = ['space', 'comment', 'string', 'name', 'number', 'symbol'] as const;

/** Splits Lua 5.1 source into tokens. Joined, their texts are the source again. */
export function tokenize(source: string): LuaToken[] {
  const tokens: LuaToken[] = [];
  for (const match of source.matchAll(PATTERN)) {
    const groups = match.groups ?? {};
    const kind = KINDS.find((name) => groups[name] !== undefined) ?? 'symbol';
    tokens.push({ kind, text: match[0] });
  }
  return tokens;
}

/** Returns true if the token is neither white space nor a comment. */
export function isSignificant(token: LuaToken): boolean {
  return token.kind !== 'space' && token.kind !== 'comment';
}
