/** Edit that replaces the characters from `start` to `end` (exclusive) by `text`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits to a text. If two edits overlap, only the edit that begins first is applied. */
export function applied(text: string, edits: readonly Edit[]): string {
  const sorted = edits
    .map((edit, order) => ({ ...edit, order }))
    .sort((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
  let result = '';
  let at = 0;
  for (const { start, end, text: replacement } of sorted) {
    // The edit overlaps the edit before, so it is not applied.
    if (start < at) continue;
    result += text.slice(at, start) + replacement;
    at = end;
  }
  return result + text.slice(at);
}
