// Sums of the counts of several processes.
import { w } from './operator-words.js';

/** @typedef {import('./follow.js').View['nodes'][number]} Node */

/**
 * Adds up counts by name.
 *
 * @param {readonly Node[]} nodes
 * @param {(node: Node) => Readonly<Record<string, number>>} pick returns the `{ name: count }` of a process
 */
export function together(nodes, pick) {
  /** @type {Record<string, number>} */
  const all = {};
  for (const node of nodes) {
    for (const [name, value] of Object.entries(pick(node))) all[name] = (all[name] ?? 0) + value;
  }
  return all;
}

/**
 * Adds up a number.
 *
 * @param {readonly Node[]} nodes
 * @param {(node: Node) => number} pick returns the number of a process
 */
export function sum(nodes, pick) {
  return nodes.reduce((total, node) => total + pick(node), 0);
}

/**
 * Returns the time since an instant in words, in seconds or minutes.
 *
 * @param {number} atMs
 * @param {number} nowMs
 */
export function ago(atMs, nowMs) {
  const seconds = Math.max(0, Math.round((nowMs - atMs) / 1_000));
  return seconds < 90 ? w.secondsAgo(seconds) : w.minutesAgo(Math.round(seconds / 60));
}
