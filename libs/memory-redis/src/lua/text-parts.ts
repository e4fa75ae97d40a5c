/** Maximum length of the text in one call of `change`. V8 ends the process if one call of replace() finds more than 2^27 parts. */
const PIECE = 2 ** 20;

/** Applies `change` to a text, piece by piece. `change` must give the same result for the pieces as for the whole text. */
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
