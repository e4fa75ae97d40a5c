import { Scope, declared } from './scope';
import type { TokenStream } from './token-stream';

/** Compiles the parameters and the body of a function. @param isMethod true if the function has the parameter `self` */
export function compileFunction(tokens: TokenStream, outer: Scope, isMethod: boolean): string {
  const { line } = tokens.current;
  tokens.expect('(');
  const names = isMethod ? ['self'] : [];
  let hasVarargs = false;
  if (tokens.current.kind !== ')') {
    do {
      hasVarargs = tokens.accept('...');
      if (hasVarargs) break;
      if (tokens.current.kind !== 'name') throw tokens.wrong("<name> or '...' expected");
      names.push(tokens.next().text);
    } while (tokens.accept(','));
  }
  tokens.expect(')');
  const scope = new Scope(outer.grammar, outer, hasVarargs);
  const parameters = names.map((name) => scope.declare(name));
  if (hasVarargs) parameters.push('...varargs');
  // Lua 5.1 still has the local `arg` of Lua 5.0: a table with the extra arguments, or nil in a function that uses `...`.
  const arg = hasVarargs ? scope.declare('arg') : undefined;
  const body = scope.grammar.block(tokens, scope);
  tokens.expectEnd('end', 'function', line);
  const isArgUsed = arg !== undefined && body.includes(arg);
  const table = scope.usesVarargs ? 'undefined' : '$o.varargsTable(varargs)';
  const declaredArg = isArgUsed ? `let ${arg} = ${table};\n` : '';
  return `((${parameters.join(', ')}) => {\nconst $c = $p.calledFrom;\n${declaredArg}${declared(scope)}${body}\nreturn $n;\n})`;
}
