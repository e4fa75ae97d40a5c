import { condition, listCode, nameOf, single, type Expression } from './expression-code';
import { CALCULATIONS } from './operators';
import type { Scope } from './scope';
import type { TokenStream } from './token-stream';

const UNARY_PRIORITY = 8;
/** Left and right priority of each binary operator. The operator is right-associative if the right one is lower. */
const PRIORITIES: Readonly<Record<string, readonly [number, number]>> = {
  or: [1, 1],
  and: [2, 2],
  '<': [3, 3],
  '>': [3, 3],
  '<=': [3, 3],
  '>=': [3, 3],
  '~=': [3, 3],
  '==': [3, 3],
  '..': [5, 4],
  '+': [6, 6],
  '-': [6, 6],
  '*': [7, 7],
  '/': [7, 7],
  '%': [7, 7],
  '^': [10, 9],
};
const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
  '^': 'power',
};

/** Properties of an expression that has become a part of another one, so that it is not a variable or a call any more. */
const NO_VARIABLE = { several: false, assign: undefined, field: undefined, tail: undefined };

/** Compiles an expression. Stops at a binary operator whose left priority is `limit` or lower. */
export function compileExpression(tokens: TokenStream, scope: Scope, limit = 0): Expression {
  let left = compileUnary(tokens, scope);
  for (;;) {
    const { kind, line } = tokens.current;
    const priority = PRIORITIES[kind];
    if (priority === undefined || priority[0] <= limit) return left;
    tokens.next();
    left = binary(kind, left, compileExpression(tokens, scope, priority[1]), scope, line);
  }
}

function compileUnary(tokens: TokenStream, scope: Scope): Expression {
  const { kind, line } = tokens.current;
  if (kind !== 'not' && kind !== '-' && kind !== '#') return compileSimple(tokens, scope);
  tokens.next();
  const operand = compileExpression(tokens, scope, UNARY_PRIORITY);
  if (kind === 'not') {
    const { truth } = operand;
    if (truth !== undefined) return { code: String(!truth), isBoolean: true, truth: !truth };
    return { code: `!${condition(operand)}`, isBoolean: true };
  }
  const operation = kind === '-' ? 'negate' : 'length';
  const code = `$o.${operation}(${single(operand)}, ${nameOf(operand)}, ${line})`;
  return folded(code, kind === '-' && operand.numeral !== undefined ? -operand.numeral : undefined);
}

function binary(operator: string, left: Expression, right: Expression, scope: Scope, line: number): Expression {
  const [a, b] = [single(left), single(right)];
  if (operator === 'and' || operator === 'or') {
    // Lua drops a constant without an effect, as in `true and x`. Error messages then use the name of the other operand.
    if (left.truth === (operator === 'and')) return { ...right, ...NO_VARIABLE, code: b };
    if (left.isBoolean === true && right.isBoolean === true) {
      return { code: `(${a} ${operator === 'and' ? '&&' : '||'} ${b})`, isBoolean: true };
    }
    const kept = scope.temporary();
    return { code: `($t(${kept} = ${a}) ? ${operator === 'and' ? `${b} : ${kept}` : `${kept} : ${b}`})` };
  }
  if (operator === '==' || operator === '~=') {
    return { code: `${operator === '~=' ? '!' : ''}$o.equal(${a}, ${b})`, isBoolean: true };
  }
  if (operator === '<' || operator === '<=') {
    return { code: `$o.${operator === '<' ? 'less' : 'lessOrEqual'}(${a}, ${b}, ${line})`, isBoolean: true };
  }
  if (operator === '>' || operator === '>=') {
    const [first, second] = [scope.temporary(), scope.temporary()];
    const compare = `$o.${operator === '>' ? 'less' : 'lessOrEqual'}(${second}, ${first}, ${line})`;
    return { code: `(${first} = ${a}, ${second} = ${b}, ${compare})`, isBoolean: true };
  }
  const operation = operator === '..' ? 'concat' : ARITHMETIC[operator];
  const code = `$o.${operation}(${a}, ${b}, ${nameOf(left)}, ${nameOf(right)}, ${line})`;
  return folded(code, resultOf(operator, left, right));
}

/**
 * Returns the expression for an arithmetic operator. Lua computes it when it compiles the script if all operands are constants.
 *
 * @param result the value that Lua has computed; undefined if an operand is not a constant
 */
function folded(code: string, result: number | undefined): Expression {
  return result === undefined || Number.isNaN(result) ? { code } : { code, truth: true, numeral: result };
}

function resultOf(operator: string, { numeral: a }: Expression, { numeral: b }: Expression): number | undefined {
  if (a === undefined || b === undefined || (b === 0 && '/%'.includes(operator))) return undefined;
  return CALCULATIONS[operator]?.calculate(a, b);
}

function compileSimple(tokens: TokenStream, scope: Scope): Expression {
  const { kind, text, number } = tokens.current;
  switch (kind) {
    case 'number':
      tokens.next();
      return { code: String(number), truth: true, numeral: number };
    case 'string':
      tokens.next();
      return { code: JSON.stringify(text), truth: true };
    case 'nil':
      tokens.next();
      return { code: 'undefined', truth: false };
    case 'true':
    case 'false':
      tokens.next();
      return { code: kind, isBoolean: true, truth: kind === 'true' };
    case '...':
      if (!scope.hasVarargs) throw tokens.wrong("cannot use '...' outside a vararg function");
      tokens.next();
      scope.usesVarargs = true;
      return { code: 'varargs', several: true };
    case '{':
      return scope.grammar.table(tokens, scope);
    case 'function':
      tokens.next();
      return { code: scope.grammar.functionBody(tokens, scope, false) };
    default:
      return compileSuffixed(tokens, scope);
  }
}

/** Compiles a variable or a call: a name or an expression in parentheses, and the fields, indexes and arguments that follow it. */
export function compileSuffixed(tokens: TokenStream, scope: Scope): Expression {
  let expression = compilePrimary(tokens, scope);
  for (;;) {
    const { kind, line } = tokens.current;
    if (kind === '.') {
      tokens.next();
      const { text } = tokens.expect('name');
      expression = indexed(expression, JSON.stringify(text), `field '${text}'`, line);
    } else if (kind === '[') {
      tokens.next();
      const key = compileExpression(tokens, scope);
      tokens.expect(']');
      expression = indexed(
        expression,
        single(key),
        /^"/.test(key.code) ? `field '${JSON.parse(key.code)}'` : "field '?'",
        line,
      );
    } else if (kind === ':') {
      tokens.next();
      const { text, line: lineOfName } = tokens.expect('name');
      const { line: lineOfCall } = tokens.current;
      const object = scope.temporary();
      const method = `$o.index(${object} = ${single(expression)}, ${JSON.stringify(text)}, ${nameOf(expression)}, ${lineOfName})`;
      expression = called(method, `method '${text}'`, [object, ...compileArguments(tokens, scope)], lineOfCall);
    } else if (kind === '(' || kind === 'string' || kind === '{') {
      expression = called(single(expression), expression.name ?? '', compileArguments(tokens, scope), line);
    } else {
      return expression;
    }
  }
}

function compilePrimary(tokens: TokenStream, scope: Scope): Expression {
  const { kind, line } = tokens.current;
  if (kind === 'name') {
    const { text } = tokens.next();
    const found = scope.find(text);
    const key = JSON.stringify(text);
    if (found === undefined) {
      return {
        code: `$g(${key}, ${line})`,
        name: `global '${text}'`,
        assign: (value) => `$G(${key}, ${value}, ${line})`,
      };
    }
    return { code: found.compiled, name: `${found.kind} '${text}'`, assign: (value) => `${found.compiled} = ${value}` };
  }
  if (kind !== '(') throw tokens.wrong('unexpected symbol');
  tokens.next();
  const inner = compileExpression(tokens, scope);
  tokens.expectEnd(')', '(', line);
  // Parentheses around a constant have no effect.
  if (inner.truth !== undefined) return inner;
  return { code: `(${single(inner)})`, isBoolean: inner.isBoolean === true, name: inner.name };
}

function indexed(object: Expression, key: string, name: string, line: number): Expression {
  const owner = single(object);
  const set = (table: string, field: string, value: string): string =>
    `$o.setIndex(${table}, ${field}, ${value}, ${nameOf(object)}, ${line})`;
  return {
    code: `$o.index(${owner}, ${key}, ${nameOf(object)}, ${line})`,
    name,
    assign: (value) => set(owner, key, value),
    field: { owner, key, set },
  };
}

function called(callee: string, name: string, args: readonly string[], line: number): Expression {
  let list = `${callee}, ${JSON.stringify(name)}, ${line}, $c`;
  for (const arg of args) list += `, ${arg}`;
  return { code: `$o.call(${list})`, tail: `$o.tailCall(${list})`, several: true };
}

/** Compiles the arguments of a call. The last argument gives all its values, if it has several. */
function compileArguments(tokens: TokenStream, scope: Scope): string[] {
  const { kind, line, text } = tokens.current;
  if (kind === 'string') {
    tokens.next();
    return [JSON.stringify(text)];
  }
  if (kind === '{') return [scope.grammar.table(tokens, scope).code];
  if (kind === '(' && line !== tokens.lastLine) {
    throw tokens.wrong('ambiguous syntax (function call x new statement)');
  }
  if (!tokens.accept('(')) throw tokens.wrong('function arguments expected');
  if (tokens.accept(')')) return [];
  const list = compileList(tokens, scope);
  tokens.expectEnd(')', '(', line);
  return listCode(list);
}

export function compileList(tokens: TokenStream, scope: Scope): Expression[] {
  const list = [compileExpression(tokens, scope)];
  while (tokens.accept(',')) list.push(compileExpression(tokens, scope));
  return list;
}
