const CLASSES: Readonly<Record<string, RegExp>> = {
  a: /[A-Za-z]/,
  // eslint-disable-next-line no-control-regex -- the class %c means control characters
  c: /[\0-\x1f\x7f]/,
  d: /\d/,
  l: /[a-z]/,
  p: /[!-/:-@[-`{-~]/,
  s: /[ \t\n\v\f\r]/,
  u: /[A-Z]/,
  w: /[A-Za-z\d]/,
  x: /[\dA-Fa-f]/,
  z: /\0/,
};

/**
 * Returns true if a character belongs to a class of a Lua pattern, such as `a` in %a. An upper-case letter means all other characters. Any
 * other name means the character itself, such as the dot in `%.`.
 */
export function inClass(char: string, name: string): boolean {
  const pattern = CLASSES[name.toLowerCase()];
  if (pattern === undefined) return name === char;
  return pattern.test(char) !== /[A-Z]/.test(name);
}
