import { panel, table } from './dom.js';
import { count } from './figures.js';
import { w } from './operator-words.js';

/** Makes the panel of the processes of the app. */
export function nodesPanel() {
  const list = table('nodes', ['node', 'grabs', 'won', 'p99', 'refused', 'ledger'], 'noNode');
  const node = panel({ title: 'processes', width: 'half' }, list.node);
  const show = (/** @type {import('./follow.js').View} */ { nodes }) =>
    list.fill(
      nodes.map((each) => [
        each.node,
        count(each.grabs),
        count(each.won),
        `${each.p99Ms.toFixed(1)} ms`,
        count(each.refused),
        each.ledger ? w.hasIt : '–',
      ]),
    );
  return { node, show };
}
