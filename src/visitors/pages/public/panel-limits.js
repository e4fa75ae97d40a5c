import { panel, table } from './dom.js';
import { together } from './counts.js';
import { count } from './figures.js';
import { w } from './operator-words.js';

/** Makes the panel of refused requests, by limit. */
export function limitsPanel() {
  const list = table('limits', ['limit', 'refused'], 'nothingRefused');
  const node = panel({ title: 'requestsRefused', lib: 'luanest/rate-limit' }, list.node);
  const show = (/** @type {import('./follow.js').View} */ { nodes }) =>
    list.fill(
      Object.entries(together(nodes, ({ works }) => works.limits)).map(([rule, refused]) => [
        w.limits[rule] ?? rule,
        count(refused),
      ]),
    );
  return { node, show };
}
