import { condition, listCode, single, type Expression } from './expression-code';
import { compileExpression, compileList, compileSuffixed } from './expressions';
import { compileFunction } from './functions';
import type { Scope } from './scope';
import type { TokenStream } from './token-stream';

/** Compiles the statements of a block. The locals of the block get a scope of their own. */
export function compileBlock(tokens: TokenStream, scope: Scope): string {
  scope.enter();
  const code = compileStatements(tokens, scope);
  scope.leave();
  return code;
}

function compileStatements(tokens: TokenStream, scope: Scope): string {
  // Appending to a string is faster here. An array with join() would copy the code of an inner block for each block around it.
  let code = '';
  while (!tokens.atBlockEnd) {
    const { kind } = tokens.current;
    code += `${compileStatement(tokens, scope)}\n`;
    tokens.accept(';');
    if (kind === 'return' || kind === 'break') break;
  }
  return code;
}

/** Compiles the body of a loop, in which `break` is allowed. */
function compileLoop(tokens: TokenStream, scope: Scope, compileBody: () => string): string {
  scope.loops++;
  const body = compileBody();
  scope.loops--;
  return body;
}

/** Returns JavaScript for the start of each loop round, which limits the run time of a script. */
function roundCode(line: number): string {
  return `if (--$p.steps < 0) $o.checkTimeLimit(${line});`;
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
      const body = compileLoop(tokens, scope, () => compileBlock(tokens, scope));
      tokens.expectEnd('end', 'while', line);
      return `while (${test}) {\n${roundCode(line)}\n${body}\n}`;
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
      const body = compileLoop(tokens, scope, () => compileStatements(tokens, scope));
      tokens.expectEnd('until', 'repeat', line);
      const test = condition(compileExpression(tokens, scope));
      scope.leave();
      return `for (;;) {\n${roundCode(line)}\n${body}\nif (${test}) break;\n}`;
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
      if (scope.loops === 0) throw tokens.wrong('no loop to break');
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
      // An `else if` evaluates its condition only if all earlier ones were false.
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
  const { text } = tokens.expect('name');
  const { kind } = tokens.current;
  if (kind === '=') return compileNumericFor(tokens, scope, text, line);
  if (kind === ',' || kind === 'in') return compileGenericFor(tokens, scope, text, line);
  throw tokens.wrong("'=' or 'in' expected");
}

function compileNumericFor(tokens: TokenStream, scope: Scope, name: string, line: number): string {
  tokens.next();
  const parts = [single(compileExpression(tokens, scope))];
  tokens.expect(',');
  parts.push(single(compileExpression(tokens, scope)));
  parts.push(tokens.accept(',') ? single(compileExpression(tokens, scope)) : '1');
  tokens.expect('do');
  const [at, end, step] = [scope.unique('at'), scope.unique('end'), scope.unique('step')];
  scope.enter();
  const variable = scope.declare(name);
  const body = compileLoop(tokens, scope, () => compileBlock(tokens, scope));
  scope.leave();
  tokens.expectEnd('end', 'for', line);
  return `{
let [${at}, ${end}, ${step}] = $o.forNumbers([${parts.join(', ')}], ${line});
for (; ${step} > 0 ? ${at} <= ${end} : ${at} >= ${end}; ${at} += ${step}) {
${roundCode(line)}
let ${variable} = ${at};
${body}
}
}`;
}

function compileGenericFor(tokens: TokenStream, scope: Scope, name: string, line: number): string {
  const names = [name];
  while (tokens.accept(',')) names.push(tokens.expect('name').text);
  tokens.expect('in');
  const list = listCode(compileList(tokens, scope)).join(', ');
  tokens.expect('do');
  const [step, state, key] = [scope.unique('step'), scope.unique('state'), scope.unique('key')];
  scope.enter();
  const variables = names.map((one) => scope.declare(one));
  const body = compileLoop(tokens, scope, () => compileBlock(tokens, scope));
  scope.leave();
  tokens.expectEnd('end', 'for', line);
  return `{
let [${step}, ${state}, ${key}] = [${list}];
for (;;) {
let [${variables.join(', ')}] = $s($o.call(${step}, '', ${line}, $c, ${state}, ${key}));
if (${variables[0]} === undefined) break;
${key} = ${variables[0]};
${body}
}
}`;
}

function compileNamedFunction(tokens: TokenStream, scope: Scope): string {
  tokens.next();
  const { text, line } = tokens.expect('name');
  const found = scope.find(text);
  let owner = found === undefined ? `$g(${JSON.stringify(text)}, ${line})` : found.compiled;
  let name = found === undefined ? `global '${text}'` : `${found.kind} '${text}'`;
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
  for (const field of fields) {
    owner = `$o.index(${owner}, ${JSON.stringify(field)}, ${JSON.stringify(name)}, ${line})`;
    name = `field '${field}'`;
  }
  return `$o.setIndex(${owner}, ${JSON.stringify(last)}, ${code}, ${JSON.stringify(name)}, ${line});`;
}

function compileLocalFunction(tokens: TokenStream, scope: Scope): string {
  const name = scope.declare(tokens.expect('name').text);
  return `let ${name} = ${compileFunction(tokens, scope, false)};`;
}

function compileLocal(tokens: TokenStream, scope: Scope): string {
  const names = [tokens.expect('name').text];
  while (tokens.accept(',')) names.push(tokens.expect('name').text);
  const values = tokens.accept('=') ? compileList(tokens, scope) : [];
  // The new names are declared after the values, in which the names still mean the outer variables.
  const variables = names.map((name) => scope.declare(name));
  const only = values.length === 1 ? values[0] : undefined;
  if (variables.length === 1 && only !== undefined) return `let ${variables[0]} = ${single(only)};`;
  return values.length === 0
    ? `let ${variables.join(', ')};`
    : `let [${variables.join(', ')}] = [${listCode(values).join(', ')}];`;
}

function compileReturn(tokens: TokenStream, scope: Scope): string {
  tokens.next();
  if (tokens.atBlockEnd || tokens.current.kind === ';') return 'return $n;';
  const list = compileList(tokens, scope);
  const [only] = list;
  if (list.length === 1 && only !== undefined) return `return ${only.tail ?? only.code};`;
  return `return [${listCode(list).join(', ')}];`;
}

function compileCallOrAssignment(tokens: TokenStream, scope: Scope): string {
  const first = compileSuffixed(tokens, scope);
  if (first.tail !== undefined) return `${first.code};`;
  const targets = [checkedTarget(tokens, first)];
  while (tokens.accept(',')) targets.push(checkedTarget(tokens, compileSuffixed(tokens, scope)));
  tokens.expect('=');
  const values = compileList(tokens, scope);
  const only = values.length === 1 ? values[0] : undefined;
  if (targets.length === 1 && only !== undefined) return `${first.assign?.(single(only))};`;
  return compileAssignments(targets, values, scope);
}

/** Compiles an assignment to several variables. Lua computes all tables and keys first, then all values, and assigns the values last. */
function compileAssignments(targets: readonly Expression[], values: readonly Expression[], scope: Scope): string {
  const list = scope.unique('list');
  const prepared: string[] = [];
  const assignments = targets.map(({ field, assign }, index) => {
    const value = `${list}[${index}]`;
    if (field === undefined) return `${assign?.(value)};`;
    const [owner, key] = [scope.unique('owner'), scope.unique('key')];
    prepared.push(`const ${owner} = ${field.owner}, ${key} = ${field.key};`);
    return `${field.set(owner, key, value)};`;
  });
  prepared.push(`const ${list} = [${listCode(values).join(', ')}];`);
  return `{\n${[...prepared, ...assignments.reverse()].join('\n')}\n}`;
}

function checkedTarget(tokens: TokenStream, target: Expression): Expression {
  if (target.assign === undefined) throw tokens.wrong('syntax error');
  return target;
}
