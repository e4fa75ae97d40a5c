import { listCode, single, type Expression } from './expression-code';
import type { Scope } from './scope';
import type { TokenStream } from './token-stream';

/** Field of a table constructor: a value of the list (`item`), or JavaScript that sets a key (`pair`). */
type Field = { readonly item: Expression } | { readonly pair: string };

/** Compiles a table constructor: {1, 2, x = 3, [y] = 4}. */
export function compileTable(tokens: TokenStream, scope: Scope): Expression {
  const { line } = tokens.expect('{');
  const fields: Field[] = [];
  const table = scope.temporary();
  while (tokens.current.kind !== '}') {
    fields.push(compileField(tokens, scope, table));
    if (!tokens.accept(',') && !tokens.accept(';')) break;
  }
  tokens.expectEnd('}', '{', line);
  const items = fields.flatMap((field) => ('item' in field ? [field.item] : []));
  const pairs = fields.length - items.length;
  const known = items.length - (items.at(-1)?.several === true ? 1 : 0);
  const created = `$o.newTable(${known}, ${pairs})`;
  if (pairs > 0) return { code: withPairs(created, fields, table, scope) };
  return { code: items.length === 0 ? created : `$o.fill(${created}, [${listCode(items).join(', ')}])` };
}

function compileField(tokens: TokenStream, scope: Scope, table: string): Field {
  const { line } = tokens.current;
  const pair = (key: string): Field => {
    return { pair: `$o.setPair(${table}, ${key}, ${single(scope.grammar.expression(tokens, scope))}, ${line})` };
  };
  if (tokens.current.kind === 'name' && tokens.lookAhead().kind === '=') {
    const { text } = tokens.next();
    tokens.next();
    return pair(JSON.stringify(text));
  }
  if (tokens.accept('[')) {
    const key = single(scope.grammar.expression(tokens, scope));
    tokens.expect(']');
    tokens.expect('=');
    return pair(key);
  }
  const item = scope.grammar.expression(tokens, scope);
  // A call or `...` gives all its values only as the last field; elsewhere only the first one.
  const isLast = tokens.current.kind === '}' || (/[,;]/.test(tokens.current.kind) && tokens.following.kind === '}');
  return { item: isLast ? item : { code: single(item) } };
}

/**
 * Returns JavaScript for a constructor with keys. Values are computed and keys set in the order of the source; the list is set at the end.
 */
function withPairs(created: string, fields: readonly Field[], table: string, scope: Scope): string {
  const steps = [`${table} = ${created}`];
  const list: Expression[] = [];
  for (const field of fields) {
    if ('pair' in field) {
      steps.push(field.pair);
    } else if (field.item.several === true) {
      list.push(field.item);
    } else {
      const kept = scope.temporary();
      steps.push(`${kept} = ${field.item.code}`);
      list.push({ code: kept });
    }
  }
  steps.push(list.length === 0 ? table : `$o.fill(${table}, [${listCode(list).join(', ')}])`);
  return `(${steps.join(', ')})`;
}
