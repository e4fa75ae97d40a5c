/** Texts that strangers may give for an id: each must be told from all others, or refused. */
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
  // One letter to the eye or to a normaliser, and different texts.
  ...['\u00e9', 'e\u0301', '\ufb01', 'fi', '\u212b', '\u00c5', 'A\u030a', '\uff41', '\u200b', '\ufeff', '\u202e'],
  ...['\u{1f9e7}', '\u{10ffff}', '\ufffd', '\uffff', 'x'.repeat(128), 'y'.repeat(256)],
].filter((id, i, all) => all.indexOf(id) === i);

/** Texts that no key can hold as they are. */
export const IMPOSSIBLE_IDS: readonly string[] = ['', '\ud800', 'a\udc00', '\udbff', 'z'.repeat(10_240)];

/** What JSON may hold in place of an id or a figure; some throw at who turns them into text. */
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

/** Whether anything has got into the objects that all others inherit from. */
export function isPolluted(): boolean {
  return (
    'polluted' in {} || 'polluted' in [] || 'polluted' in Function.prototype || Object.keys(Object.prototype).length > 0
  );
}
