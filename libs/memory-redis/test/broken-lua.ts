import type { Random } from './random';

const PIECES = [
  ...[
    '--',
    '--[[',
    '--[=[',
    '--[=',
    '--[',
    ']]',
    '[[',
    '[=[',
    ']=]',
    '[==',
    "'",
    '"',
    '\\',
    "'a\\\n'",
    "'\\65\\066\\1'",
  ],
  ...[
    "'\\n\\999'",
    '"\\\r\n"',
    '[[\r\na\n\rb]]',
    '[=[\n]]]=]',
    '\r',
    '\n',
    '\r\n',
    '\n\r',
    '\0',
    "'\0'",
    '\x07',
    '\x7f',
    '\xe9',
  ],
  ...[
    '.',
    '..',
    '...',
    '=',
    '==',
    '~=',
    '~',
    '<=',
    '<',
    '1e',
    '0x',
    '1.2.3',
    '.5',
    '3..2',
    '1e+5',
    '0xfg',
    '08',
    '5e-',
  ],
  ...['(', ')', '{', '}', '[', ']', ';', ',', ':', '#', '@', '$', '!', '%', ' ', '\t', '\f'],
  ...[
    ' end ',
    ' do ',
    ' then ',
    ' else ',
    ' elseif ',
    ' until ',
    ' return ',
    ' break ',
    ' local ',
    ' function ',
    ' nil ',
  ],
  ...[
    ' for i = 1, 2 do end ',
    ' for k in t do end ',
    ' for i, j = 1 do end ',
    ' goto ',
    ' a ',
    ' local function g() end ',
  ],
  ...[' f() = 1 ', ' a, b ', ' (a) = 1 ', ' a.b:c ', ' function t.x:y() end ', ' {a; b, } ', ' return; '],
];

/** Returns Lua with one to three changes, after which it often is not Lua any more. */
export function broken(source: string, random: Random): string {
  let text = source;
  for (const change of random.list(1, 3, () => random.pick(['insert', 'insert', 'delete', 'cut']))) {
    const at = random.below(text.length + 1);
    if (change === 'insert') text = `${text.slice(0, at)}${random.pick(PIECES)}${text.slice(at)}`;
    else if (change === 'delete') text = text.slice(0, at) + text.slice(at + (1 + random.below(4)));
    else if (random.chance(0.3)) text = text.slice(0, at);
  }
  return text;
}

/** Returns a text as UTF-8, one character for each byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
