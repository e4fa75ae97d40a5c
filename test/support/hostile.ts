/** Hostile ids: each must be distinct from all others, or refused. */
export const HOSTILE_IDS: readonly string[] = [
  ...['a', 'A', 'a:b', 'a', 'b', 'a:', ':a', ':', '::', '%3A', '%', '%25', '%%'],
  ...['{', '}', '{}', '{a}', 'a}{b', '{a}b', '}a{', '%7B', '{%7D', '{{a}}'],
  ...['a\nb', 'a\r\nb', '\n', '\r\nset-cookie: a=b', '\0', 'a\0b', '\u001b[31m', '\u2028', ' ', 'a ', ' a', '\t'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'undefined', 'null', 'NaN'],
  ...[
    '0',
    '00',
    '-0',
    '1e3',
    '-1',
    '*',
    '?',
    '[a]',
    '\\',
    '"',
    "'",
    '$(id)',
    '; FLUSHALL',
    '../..',
    '.',
    '..',
    '/',
    '//',
  ],
  // Different texts that look the same, or that Unicode normalisation makes equal.
  ...['\u00e9', 'e\u0301', '\ufb01', 'fi', '\u212b', '\u00c5', 'A\u030a', '\uff41', '\u200b', '\ufeff', '\u202e'],
  ...['\u{1f9e7}', '\u{10ffff}', '\ufffd', '\uffff', 'x'.repeat(128), 'y'.repeat(256)],
].filter((id, i, all) => all.indexOf(id) === i);

/** Texts that cannot be part of a key. */
export const IMPOSSIBLE_IDS: readonly string[] = ['', '\ud800', 'a\udc00', '\udbff', 'z'.repeat(10_240)];

/** Returns JSON values to pass instead of an id or a number. Some throw when they are converted to text. */
export function hostileValues(): readonly unknown[] {
  let deep: unknown = [];
  for (let depth = 0; depth < 50_000; depth++) deep = [deep];
  return [
    ...[null, true, false, 0, -1, 1.5, Infinity, '', [], {}, [[]], ['a'], [1, 2], deep],
    JSON.parse('{"toString":1}'),
    JSON.parse('{"toString":1,"valueOf":2}'),
    JSON.parse('{"__proto__":{"polluted":true}}'),
    JSON.parse('{"constructor":{"prototype":{"polluted":true}}}'),
    JSON.parse('{"length":5,"then":1,"toJSON":2}'),
    Object.create(null),
  ];
}

/** Returns true if Object.prototype or another shared prototype was changed. */
export function isPolluted(): boolean {
  return (
    'polluted' in {} || 'polluted' in [] || 'polluted' in Function.prototype || Object.keys(Object.prototype).length > 0
  );
}
