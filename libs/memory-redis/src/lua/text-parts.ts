/** Maximum length of the text for one call of `change`. V8 ends the process if a single replace() finds more than 2^27 matches. */
const PIECE = 2 ** 20;

/** Applies `change` to a long text piece by piece. The result for each piece must not depend on the others. */
export function inPieces(text: string, change: (piece: string) => string): string {
  if (text.length <= PIECE) return change(text);
  let changed = '';
  for (let from = 0; from < text.length; from += PIECE) changed += change(text.slice(from, from + PIECE));
  return changed;
}

export function reversed(text: string): string {
  let changed = '';
  for (let to = text.length; to > 0; to -= PIECE)
    changed += [...text.slice(Math.max(0, to - PIECE), to)].reverse().join('');
  return changed;
}
