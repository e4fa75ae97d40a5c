import { compileExpression } from './expressions';
import { compileFunction } from './functions';
import { declared, Scope, type Grammar } from './scope';
import { compileBlock } from './statements';
import { compileTable } from './table-constructors';
import { TokenStream } from './token-stream';

const GRAMMAR: Grammar = {
  block: compileBlock,
  expression: compileExpression,
  functionBody: compileFunction,
  table: compileTable,
};

/**
 * Compiles a Lua script to the body of a JavaScript function. The function has the parameters `lua` (see LuaRuntime) and `varargs`, an
 * array. It returns what the script returns. Each character of the source stands for one byte.
 *
 * @throws LuaError if the source is not valid Lua 5.1
 */
export function compile(source: string): string {
  const tokens = new TokenStream(source);
  const scope = new Scope(GRAMMAR, undefined, true);
  const body = compileBlock(tokens, scope);
  if (!tokens.atEnd) throw tokens.wrong("'<eof>' expected");
  return `'use strict';
const { operators: $o, position: $p, nothing: $n, first: $1, spread: $s, isTrue: $t, global: $g, setGlobal: $G } = lua;
const $c = 0;
${declared(scope)}${body}
return $n;`;
}
