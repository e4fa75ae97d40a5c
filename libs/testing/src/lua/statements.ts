import {
  compileExpression,
  compileFunction,
  compileList,
  compileSuffixed,
  condition,
  listCode,
  single,
  type Expression,
} from './expressions';
import type { Scope } from './scope';
import type { TokenStream } from './token-stream';

const BLOCK_ENDS = new Set(['end', 'else', 'elseif', 'until']);

/** Compiles statements up to the end of their block. Its locals are in their own scope. */
export function compileBlock(tokens: TokenStream, scope: Scope): string {
  scope.enter();
  const code = compileStatements(tokens, scope);
  scope.leave();
  return code;
}

function compileStatements(tokens: TokenStream, scope: Scope): string {
  const lines: string[] = [];
  while (tokens.current.kind !== 'end' || tokens.current.text !== '<eof>') {
    const { kind } = tokens.current;
    if (BLOCK_ENDS.has(kind)) break;
    lines.push(compileStatement(tokens, scope));
    tokens.accept(';');
    if (kind === 'return' || kind === 'break') {
      const after = tokens.current;
      if (!BLOCK_ENDS.has(after.kind)) throw tokens.wrong("'<eof>' expected");
      break;
    }
  }
  return lines.join('\n');
}

function compileStatement(tokens: TokenStream, scope: Scope): string {
  const { kind, line } = tokens.current;
  switch (kind) {
    case 'if':
      return compileIf(tokens, scope);
    case 'while': {
      tokens.next();
      const test = condition(compileExpression(tokens, scope));
      tokens.expect('do');
      const body = compileBlock(tokens, scope);
      tokens.expectEnd('end', 'while', line);
      return `while (${test}) {\n${body}\n}`;
    }
    case 'do': {
      tokens.next();
      const body = compileBlock(tokens, scope);
      tokens.expectEnd('end', 'do', line);
      return `{\n${body}\n}`;
    }
    case 'for':
      return compileFor(tokens, scope);
    case 'repeat': {
      tokens.next();
      scope.enter();
      const body = compileStatements(tokens, scope);
      tokens.expectEnd('until', 'repeat', line);
      const test = condition(compileExpression(tokens, scope));
      scope.leave();
      return `for (;;) {\n${body}\nif (${test}) break;\n}`;
    }
    case 'function':
      return compileNamedFunction(tokens, scope);
    case 'local':
      tokens.next();
      return tokens.accept('function') ? compileLocalFunction(tokens, scope) : compileLocal(tokens, scope);
    case 'return':
      return compileReturn(tokens, scope);
    case 'break':
      tokens.next();
      return 'break;';
    default:
      return compileCallOrAssignment(tokens, scope);
  }
}

function compileIf(tokens: TokenStream, scope: Scope): string {
  const { line } = tokens.next();
  let code = `if (${condition(compileExpression(tokens, scope))}) {\n`;
  tokens.expect('then');
  code += compileBlock(tokens, scope);
  for (;;) {
    if (tokens.accept('elseif')) {
      // In a block of its own, so that the condition's temporary values are computed only if it is reached.
      code += `\n} else if (${condition(compileExpression(tokens, scope))}) {\n`;
      tokens.expect('then');
      code += compileBlock(tokens, scope);
    } else if (tokens.accept('else')) {
      code += `\n} else {\n${compileBlock(tokens, scope)}`;
      tokens.expectEnd('end', 'if', line);
      return `${code}\n}`;
    } else {
      tokens.expectEnd('end', 'if', line);
      return `${code}\n}`;
    }
  }
}

function compileFor(tokens: TokenStream, scope: Scope): string {
  const { line } = tokens.next();
  const names = [tokens.expect('name').text];
  if (tokens.accept('=')) {
    const from = single(compileExpression(tokens, scope));
    tokens.expect(',');
    const to = single(compileExpression(tokens, scope));
    const step = tokens.accept(',') ? single(compileExpression(tokens, scope)) : '1';
    tokens.expect('do');
    const [at, end, by] = [scope.temporary(), scope.temporary(), scope.temporary()];
    scope.enter();
    const variable = scope.declare(names[0] as string);
    const body = compileBlock(tokens, scope);
    scope.leave();
    tokens.expectEnd('end', 'for', line);
    const part = (code: string, name: string) => `$o.forNumber(${code}, '${name}', ${line})`;
    // The counters are constants of a block, since a function of the script may run the same loop again while it runs.
    return `{
const ${at}c = ${part(from, 'initial value')}, ${end}c = ${part(to, 'limit')}, ${by}c = ${part(step, 'step')};
for (let ${at}i = ${at}c; ${by}c > 0 ? ${at}i <= ${end}c : ${at}i >= ${end}c; ${at}i += ${by}c) {
let ${variable} = ${at}i;
${body}
}
}`;
  }
  while (tokens.accept(',')) names.push(tokens.expect('name').text);
  tokens.expect('in');
  const list = listCode(compileList(tokens, scope)).join(', ');
  tokens.expect('do');
  const id = scope.temporary();
  scope.enter();
  const variables = names.map((name) => scope.declare(name));
  const body = compileBlock(tokens, scope);
  scope.leave();
  tokens.expectEnd('end', 'for', line);
  return `{
let [${id}f, ${id}s, ${id}k] = [${list}];
for (;;) {
let [${variables.join(', ')}] = $s($o.at($o.callee(${id}f, '', ${line}), ${line})(${id}s, ${id}k));
if (${variables[0]} === undefined) break;
${id}k = ${variables[0]};
${body}
}
}`;
}

function compileNamedFunction(tokens: TokenStream, scope: Scope): string {
  tokens.next();
  const { text, line } = tokens.expect('name');
  const found = scope.find(text);
  let owner = found === undefined ? `$g(${JSON.stringify(text)}, ${line})` : found.compiled;
  const fields: string[] = [];
  let isMethod = false;
  while (!isMethod && (tokens.current.kind === '.' || tokens.current.kind === ':')) {
    isMethod = tokens.next().kind === ':';
    fields.push(tokens.expect('name').text);
  }
  const code = compileFunction(tokens, scope, isMethod);
  const last = fields.pop();
  if (last === undefined) {
    return found === undefined ? `$G(${JSON.stringify(text)}, ${code}, ${line});` : `${found.compiled} = ${code};`;
  }
  for (const field of fields) owner = `$o.index(${owner}, ${JSON.stringify(field)}, '', ${line})`;
  return `$o.setIndex(${owner}, ${JSON.stringify(last)}, ${code}, '', ${line});`;
}

function compileLocalFunction(tokens: TokenStream, scope: Scope): string {
  const name = scope.declare(tokens.expect('name').text);
  return `let ${name} = ${compileFunction(tokens, scope, false)};`;
}

function compileLocal(tokens: TokenStream, scope: Scope): string {
  const names = [tokens.expect('name').text];
  while (tokens.accept(',')) names.push(tokens.expect('name').text);
  const values = tokens.accept('=') ? compileList(tokens, scope) : [];
  // Declared after the values, in which the same names are still those of the block around.
  const variables = names.map((name) => scope.declare(name));
  const only = values.length === 1 ? values[0] : undefined;
  if (variables.length === 1 && only !== undefined) return `let ${variables[0]} = ${single(only)};`;
  return values.length === 0
    ? `let ${variables.join(', ')};`
    : `let [${variables.join(', ')}] = [${listCode(values).join(', ')}];`;
}

function compileReturn(tokens: TokenStream, scope: Scope): string {
  tokens.next();
  if (BLOCK_ENDS.has(tokens.current.kind) || tokens.current.kind === ';') return 'return $n;';
  const list = compileList(tokens, scope);
  const [only] = list;
  if (list.length === 1 && only !== undefined) return `return ${only.code};`;
  return `return [${listCode(list).join(', ')}];`;
}

function compileCallOrAssignment(tokens: TokenStream, scope: Scope): string {
  const first = compileSuffixed(tokens, scope);
  if (tokens.current.kind !== '=' && tokens.current.kind !== ',') {
    if (first.isCall !== true) throw tokens.wrong("'=' expected");
    return `${first.code};`;
  }
  const targets: Expression[] = [first];
  while (tokens.accept(',')) targets.push(compileSuffixed(tokens, scope));
  tokens.expect('=');
  const values = compileList(tokens, scope);
  const assign = (target: Expression, value: string): string => {
    if (target.assign === undefined) throw tokens.wrong('syntax error');
    return `${target.assign(value)};`;
  };
  const only = values.length === 1 ? values[0] : undefined;
  if (targets.length === 1 && only !== undefined) return assign(first, single(only));
  const list = scope.temporary();
  const assignments = targets.map((target, index) => assign(target, `${list}v[${index}]`));
  return `{\nconst ${list}v = [${listCode(values).join(', ')}];\n${assignments.reverse().join('\n')}\n}`;
}
