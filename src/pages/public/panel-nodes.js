import { panel, table } from './dom.js';
import { count } from './figures.js';

/** The processes of the app. */
export function nodesPanel() {
  const list = table('nodes', ['Node', 'Grabs', 'Won', 'p99', 'Refused', 'Ledger'], 'None is heard of.');
  const node = panel({ title: 'Processes', width: 'half' }, list.node);
  const show = ({ nodes }) =>
    list.fill(
      nodes.map((each) => [
        each.node,
        count(each.grabs),
        count(each.won),
        `${each.p99Ms.toFixed(1)} ms`,
        count(each.refused),
        each.ledger ? 'has it' : '–',
      ]),
    );
  return { node, show };
}
