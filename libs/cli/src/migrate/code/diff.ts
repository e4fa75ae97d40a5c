/** A line of a diff: unchanged (` `), removed (`-`) or added (`+`). */
interface Line {
  readonly kind: ' ' | '-' | '+';
  readonly text: string;
}

const CONTEXT = 3;
const NO_NEWLINE = '\\ No newline at end of file';

/** Returns the difference between two texts as `diff -u` does; '' if they are equal. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return '';
  const lines = changes(linesOf(before), linesOf(after));
  const hunks = hunksOf(lines).map(({ from, to }) => hunk(lines, from, to));
  return `--- a/${path}\n+++ b/${path}\n${hunks.join('')}`;
}

/** Splits a text into lines, each with its line break. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Finds the shortest list of removed and added lines, with the algorithm of Myers. */
function changes(before: readonly string[], after: readonly string[]): Line[] {
  const trace: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let d = 0; ; d += 1) {
    trace.push(new Map(reached));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(reached, k - 1) < at(reached, k + 1));
      let x = down ? at(reached, k + 1) : at(reached, k - 1) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      reached = reached.set(k, x);
      if (x >= before.length && x - k >= after.length) return backtrack(trace, before, after);
    }
  }
}

function backtrack(trace: readonly Map<number, number>[], before: readonly string[], after: readonly string[]): Line[] {
  const lines: Line[] = [];
  let x = before.length;
  let y = after.length;
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const reached = trace[d] as Map<number, number>;
    const k = x - y;
    const down = k === -d || (k !== d && at(reached, k - 1) < at(reached, k + 1));
    const fromX = d === 0 ? 0 : at(reached, down ? k + 1 : k - 1);
    const fromY = d === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    for (; x > fromX && y > fromY; x -= 1, y -= 1) lines.push({ kind: ' ', text: before[x - 1] as string });
    if (d === 0) break;
    lines.push(down ? { kind: '+', text: after[fromY] as string } : { kind: '-', text: before[fromX] as string });
    x = fromX;
    y = fromY;
  }
  return lines.reverse();
}

function at(reached: ReadonlyMap<number, number>, k: number): number {
  return reached.get(k) ?? -1;
}

/** Returns the ranges of changed lines with some unchanged lines around them. Ranges that touch or overlap are merged. */
function hunksOf(lines: readonly Line[]): { from: number; to: number }[] {
  const hunks: { from: number; to: number }[] = [];
  lines.forEach(({ kind }, i) => {
    if (kind === ' ') return;
    const last = hunks.at(-1);
    if (last && i - CONTEXT <= last.to) last.to = Math.min(lines.length, i + 1 + CONTEXT);
    else hunks.push({ from: Math.max(0, i - CONTEXT), to: Math.min(lines.length, i + 1 + CONTEXT) });
  });
  return hunks;
}

function hunk(lines: readonly Line[], from: number, to: number): string {
  const range = (kind: '-' | '+'): string => {
    const has = (line: Line): boolean => line.kind === ' ' || line.kind === kind;
    const before = lines.slice(0, from).filter(has).length;
    const count = lines.slice(from, to).filter(has).length;
    return `${kind}${count === 0 ? before : before + 1},${count}`;
  };
  const body = lines
    .slice(from, to)
    .map(({ kind, text }) => kind + (text.endsWith('\n') ? text : `${text}\n${NO_NEWLINE}\n`));
  return `@@ ${range('-')} ${range('+')} @@\n${body.join('')}`;
}
