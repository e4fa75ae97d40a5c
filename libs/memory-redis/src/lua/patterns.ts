import { inClass } from './character-classes';
import { raise } from './position';
import type { LuaValue } from './values';

/** A match of a Lua pattern: its start, its end (exclusive) and its captures. */
export interface PatternMatch {
  readonly start: number;
  readonly end: number;
  /** Captured strings, or positions (from 1) for `()`, without the whole match. */
  readonly captures: readonly LuaValue[];
  readonly captureCount: number;
}

interface Capture {
  readonly start: number;
  /** Length of the captured text; undefined until its `)`; 'position' for `()`. */
  length: number | 'position' | undefined;
}

const SPECIALS = /[\^$*+?.([%-]/;
const MOST_CAPTURES = 32;
/** Returns true if a pattern has no special characters. */
export function isPlain(pattern: string): boolean {
  return !SPECIALS.test(pattern);
}

/** Finds the first match of a Lua pattern that starts at index `from` (0-based) or later. */
export function findPattern(text: string, pattern: string, from: number): PatternMatch | undefined {
  const anchored = pattern.startsWith('^');
  for (let start = from; start <= text.length; start++) {
    const found = matchAt(text, pattern, start, anchored ? 1 : 0);
    if (found !== undefined || anchored) return found;
  }
  return undefined;
}

/** Matches a pattern at one position only. @param patternAt index at which the pattern begins: 1 if its first character is ^ */
export function matchAt(text: string, pattern: string, start: number, patternAt: number): PatternMatch | undefined {
  const matcher = new Matcher(text, pattern);
  const end = matcher.match(start, patternAt);
  if (end === undefined) return undefined;
  return {
    start,
    end,
    // Captures are computed only if they are read, because an unclosed capture is an error only then.
    get captures() {
      return matcher.captured();
    },
    captureCount: matcher.captureCount,
  };
}

class Matcher {
  private captures: Capture[] = [];
  private depth = 0;

  constructor(
    private readonly text: string,
    private readonly pattern: string,
  ) {}

  get captureCount(): number {
    return this.captures.length;
  }

  captured(): LuaValue[] {
    return this.captures.map(({ start, length }) => {
      if (length === undefined) throw raise('unfinished capture');
      return length === 'position' ? start + 1 : this.text.slice(start, start + length);
    });
  }

  /** Returns the index after the match; undefined if the pattern does not match here. */
  match(at: number, patternAt: number): number | undefined {
    if (++this.depth > 200) throw raise('pattern too complex');
    try {
      return this.matchRest(at, patternAt);
    } finally {
      this.depth--;
    }
  }

  private matchRest(from: number, patternFrom: number): number | undefined {
    let at = from;
    let patternAt = patternFrom;
    const { pattern, text } = this;
    while (patternAt < pattern.length) {
      const char = pattern[patternAt];
      if (char === '(') {
        return pattern[patternAt + 1] === ')'
          ? this.withCapture(at, { start: at, length: 'position' }, patternAt + 2)
          : this.withCapture(at, { start: at, length: undefined }, patternAt + 1);
      }
      if (char === ')') return this.closeCapture(at, patternAt + 1);
      if (char === '$' && patternAt + 1 === pattern.length) return at === text.length ? at : undefined;
      if (char === '%' && pattern[patternAt + 1] === 'b') {
        const end = this.balanced(at, patternAt + 2);
        if (end === undefined) return undefined;
        at = end;
        patternAt += 4;
        continue;
      }
      if (char === '%' && pattern[patternAt + 1] === 'f') {
        const end = this.frontier(at, patternAt + 2);
        if (end === undefined) return undefined;
        patternAt = end;
        continue;
      }
      if (char === '%' && /\d/.test(pattern[patternAt + 1] ?? '')) {
        const end = this.backReference(at, Number(pattern[patternAt + 1]));
        if (end === undefined) return undefined;
        at = end;
        patternAt += 2;
        continue;
      }
      const end = this.endOfItem(patternAt);
      const suffix = pattern[end];
      if (suffix === '?') {
        const taken = this.matchesOne(at, patternAt, end) ? this.match(at + 1, end + 1) : undefined;
        if (taken !== undefined) return taken;
        patternAt = end + 1;
      } else if (suffix === '*' || suffix === '+') {
        return this.mostOf(at, patternAt, end, suffix === '+' ? 1 : 0);
      } else if (suffix === '-') {
        return this.leastOf(at, patternAt, end);
      } else {
        if (!this.matchesOne(at, patternAt, end)) return undefined;
        at++;
        patternAt = end;
      }
    }
    return at;
  }

  private mostOf(at: number, patternAt: number, end: number, least: number): number | undefined {
    let count = 0;
    while (this.matchesOne(at + count, patternAt, end)) count++;
    for (; count >= least; count--) {
      const found = this.match(at + count, end + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private leastOf(from: number, patternAt: number, end: number): number | undefined {
    for (let at = from; ; at++) {
      const found = this.match(at, end + 1);
      if (found !== undefined) return found;
      if (!this.matchesOne(at, patternAt, end)) return undefined;
    }
  }

  private withCapture(at: number, capture: Capture, patternAt: number): number | undefined {
    if (this.captures.length >= MOST_CAPTURES) throw raise('too many captures');
    this.captures.push(capture);
    const found = this.match(at, patternAt);
    if (found === undefined) this.captures.pop();
    return found;
  }

  private closeCapture(at: number, patternAt: number): number | undefined {
    const open = this.captures.findLast(({ length }) => length === undefined);
    if (open === undefined) throw raise('invalid pattern capture');
    open.length = at - open.start;
    const found = this.match(at, patternAt);
    if (found === undefined) open.length = undefined;
    return found;
  }

  private backReference(at: number, number: number): number | undefined {
    const capture = this.captures[number - 1];
    if (typeof capture?.length !== 'number') throw raise('invalid capture index');
    const copy = this.text.slice(capture.start, capture.start + capture.length);
    return this.text.startsWith(copy, at) ? at + copy.length : undefined;
  }

  private balanced(at: number, patternAt: number): number | undefined {
    const open = this.pattern[patternAt];
    const close = this.pattern[patternAt + 1];
    if (open === undefined || close === undefined) throw raise('unbalanced pattern');
    if (this.text[at] !== open) return undefined;
    let depth = 1;
    for (let index = at + 1; index < this.text.length; index++) {
      const char = this.text[index];
      if (char === close) {
        if (--depth === 0) return index + 1;
      } else if (char === open) {
        depth++;
      }
    }
    return undefined;
  }

  private frontier(at: number, patternAt: number): number | undefined {
    if (this.pattern[patternAt] !== '[') throw raise("missing '[' after '%f' in pattern");
    const end = this.endOfItem(patternAt);
    const before = at === 0 ? '\0' : (this.text[at - 1] ?? '\0');
    const here = this.text[at] ?? '\0';
    return !this.inSet(before, patternAt, end) && this.inSet(here, patternAt, end) ? end : undefined;
  }

  /** Returns the index in the pattern after one item: a character, an escape such as %a, or a set such as [a-z]. */
  private endOfItem(patternAt: number): number {
    const { pattern } = this;
    if (pattern[patternAt] === '%') {
      if (patternAt + 1 >= pattern.length) throw raise("malformed pattern (ends with '%')");
      return patternAt + 2;
    }
    if (pattern[patternAt] !== '[') return patternAt + 1;
    let at = patternAt + 1;
    if (pattern[at] === '^') at++;
    do {
      if (at >= pattern.length) throw raise("malformed pattern (missing ']')");
      at += pattern[at] === '%' && at + 1 < pattern.length ? 2 : 1;
    } while (pattern[at] !== ']');
    return at + 1;
  }

  private matchesOne(at: number, patternAt: number, end: number): boolean {
    const char = this.text[at];
    if (char === undefined) return false;
    const item = this.pattern[patternAt];
    if (item === '.') return true;
    if (item === '%') return inClass(char, this.pattern[patternAt + 1] ?? '');
    return item === '[' ? this.inSet(char, patternAt, end) : item === char;
  }

  private inSet(char: string, patternAt: number, end: number): boolean {
    const { pattern } = this;
    const negated = pattern[patternAt + 1] === '^';
    for (let at = patternAt + (negated ? 2 : 1); at < end - 1; at++) {
      const item = pattern[at] ?? '';
      if (item === '%') {
        if (inClass(char, pattern[++at] ?? '')) return !negated;
      } else if (pattern[at + 1] === '-' && at + 2 < end - 1) {
        if (item <= char && char <= (pattern[at + 2] ?? '')) return !negated;
        at += 2;
      } else if (item === char) {
        return !negated;
      }
    }
    return negated;
  }
}
