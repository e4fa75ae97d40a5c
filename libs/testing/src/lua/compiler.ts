import { compileBlock } from './statements';
import { Scope } from './scope';
import { TokenStream } from './token-stream';

/**
 * Compiles the source of a script, of which each character is one byte, to the body of a JavaScript function with the
 * parameters `lua` (see LuaRuntime) and `varargs`, an array. The function returns what the script returns.
 *
 * @throws LuaError if the source is not Lua 5.1
 */
export function compile(source: string): string {
  const tokens = new TokenStream(source);
  const scope = new Scope(undefined, true);
  const body = compileBlock(tokens, scope);
  if (!tokens.atEnd) throw tokens.wrong("'<eof>' expected");
  return `'use strict';
const { operators: $o, position: $p, nothing: $n, first: $1, spread: $s, isTrue: $t, global: $g, setGlobal: $G } = lua;
const $c = 0;
${declared(scope)}${body}
return $n;`;
}

/** Returns the declaration of the temporary variables of a function. */
export function declared({ temporaries }: Scope): string {
  return temporaries.length === 0 ? '' : `let ${temporaries.join(', ')};\n`;
}
