/** V8 ends the process where one call makes more than 2^27 parts of a text, so longer texts are handled in pieces. */
const PIECE = 2 ** 20;

/** Applies to a text what can be applied to each piece of it. */
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
