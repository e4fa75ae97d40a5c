const CLASSES: Readonly<Record<string, RegExp>> = {
  a: /[A-Za-z]/,
  // eslint-disable-next-line no-control-regex -- control characters are what it is
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
 * Returns true if a character is in the class that follows % in a pattern, such as `a` in %a. An upper-case letter means all characters
 * that are not in the class. A name that is not a class means the character itself, as in %. for a dot.
 */
export function inClass(char: string, name: string): boolean {
  const pattern = CLASSES[name.toLowerCase()];
  if (pattern === undefined) return name === char;
  return pattern.test(char) !== /[A-Z]/.test(name);
}
