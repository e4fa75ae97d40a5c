import type { WorkSample } from './work';
import { rounded, row } from './table';

/** Length of the longest name that is not cut, in characters. */
const MOST_NAME = 36;
const HEADS = ['queue, or stream > group', 'waiting', 'due', 'running', 'dead', 'done/s', 'change/s', 'oldest'];

/**
 * Returns the table of queues and streams: those with the oldest work first.
 *
 * @param rows maximum number of lines
 */
export function workLines(before: WorkSample, after: WorkSample, rows: number): string[] {
  const seconds = Math.max((after.atMs - before.atMs) / 1_000, 0.001);
  const sorted = [...after.counts].sort(
    ([one, a], [other, b]) => b.oldestMs - a.oldestMs || b.waiting - a.waiting || (one < other ? -1 : 1),
  );
  if (after.problem !== undefined) return [`Queues and streams cannot be read: ${after.problem}`, ''].slice(0, rows);
  if (sorted.length === 0 || rows < 3) return [];
  const lines = sorted.map(([name, now]) => {
    const then = before.counts.get(name);
    const change = then === undefined ? 0 : (now.waiting + now.running - then.waiting - then.running) / seconds;
    const settled = then?.settled === undefined || now.settled === undefined ? undefined : now.settled - then.settled;
    const done = settled === undefined ? '-' : rounded(Math.max(0, settled / seconds));
    const text = name.length > MOST_NAME ? `${name.slice(0, MOST_NAME - 1)}…` : name;
    const sign = change > 0 ? '+' : '';
    const counts = [now.waiting, now.due, now.running, now.dead].map(String);
    return row([text, ...counts, done, `${sign}${rounded(change)}`, ageOf(now.oldestMs)], MOST_NAME + 1);
  });
  const shown = lines.slice(0, rows - 2);
  const hidden = after.unread + lines.length - shown.length;
  const more = hidden === 0 ? '' : `... and ${hidden} more`;
  return [row(HEADS, MOST_NAME + 1), ...shown, more];
}

/** Returns a duration in its largest unit, such as `5m`; `-` for 0. */
function ageOf(ms: number): string {
  if (ms <= 0) return '-';
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const;
  for (const [unit, length] of units) if (ms >= length) return `${Math.floor(ms / length)}${unit}`;
  return `${Math.floor(ms / 1_000)}s`;
}
