import { figures, panel } from './dom.js';
import { sum, together } from './counts.js';
import { count } from './figures.js';

/** Makes the panel of the points that visitors earned by joining rains. */
export function pointsPanel() {
  const list = figures({ points: 'earned', twice: 'twice', full: 'full' });
  const node = panel({ title: 'points', lib: 'luanest/read-reward' }, list.node);
  const show = (/** @type {import('./follow.js').View} */ { nodes }) => {
    const reads = together(nodes, ({ works }) => works.reads);
    list.fill({
      points: count(sum(nodes, ({ works }) => works.points)),
      twice: count(reads.duplicate ?? 0),
      full: count(reads.capped ?? 0),
    });
  };
  return { node, show };
}
