/** A piece of a text that another text replaces. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Returns a text with some edits. Of two edits of the same piece, the one that begins first has an effect. */
export function applied(text: string, edits: readonly Edit[]): string {
  const sorted = edits
    .map((edit, order) => ({ ...edit, order }))
    .sort((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
  let result = '';
  let at = 0;
  for (const { start, end, text: replacement } of sorted) {
    // Both change the same piece: an edit within a piece that goes has no effect.
    if (start < at) continue;
    result += text.slice(at, start) + replacement;
    at = end;
  }
  return result + text.slice(at);
}
