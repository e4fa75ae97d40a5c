import { figures, panel } from './dom.js';
import { together } from './counts.js';
import { count } from './figures.js';

/** Makes the panel of requests that have an idempotency key. */
export function oncePanel() {
  const list = figures({ ran: 'ranOnce', replayed: 'replayed', held: 'held' });
  const node = panel({ title: 'repeated', lib: 'luanest/once' }, list.node);
  const show = (/** @type {import('./follow.js').View} */ { nodes }) => {
    const counts = together(nodes, ({ works }) => works.once);
    list.fill({
      ran: count(counts.claimed ?? 0),
      replayed: count(counts.done ?? 0),
      held: count(counts['in-progress'] ?? 0),
    });
  };
  return { node, show };
}
