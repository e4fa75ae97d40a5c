import { splitLua, type LuaToken } from './lua-tokens';

/** A token of Lua with its position in the source. `text` is '' at the end of the source. */
export interface Token {
  readonly kind: 'string' | 'name' | 'number' | 'symbol' | 'end';
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

const PAIRS = new Set(['==', '~=', '<=', '>=', '..']);

/** Returns the tokens of Lua 5.1 source without spaces and comments. The last one is the end of the source. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let next = 0;
  const { texts, code, places } = splitLua(source);
  for (const [index, text] of texts.entries()) {
    const from = at;
    at += text.length;
    if (places[next] !== index) continue;
    const token = code[next++] as LuaToken;
    const last = tokens.at(-1);
    const pair = (last?.text ?? '') + token.text;
    if (last?.kind === 'symbol' && last.to === from && (PAIRS.has(pair) || pair === '...')) {
      tokens[tokens.length - 1] = { ...last, text: pair, to: at };
    } else {
      tokens.push({ kind: token.kind, text: token.text, from, to: at });
    }
  }
  tokens.push({ kind: 'end', text: '', from: at, to: at });
  return tokens;
}
