// Counts of several processes together.
import { w } from './operator-words.js';

/** Adds `{ name: count }` of all processes. */
export function together(nodes, pick) {
  const all = {};
  for (const node of nodes) {
    for (const [name, value] of Object.entries(pick(node))) all[name] = (all[name] ?? 0) + value;
  }
  return all;
}

/** Adds a number of all processes. */
export function sum(nodes, pick) {
  return nodes.reduce((total, node) => total + pick(node), 0);
}

/** Seconds since an instant, in words. */
export function ago(atMs, nowMs) {
  const seconds = Math.max(0, Math.round((nowMs - atMs) / 1_000));
  return seconds < 90 ? w.secondsAgo(seconds) : w.minutesAgo(Math.round(seconds / 60));
}
