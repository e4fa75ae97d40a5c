import { panel, table } from './dom.js';
import { together } from './counts.js';
import { count } from './figures.js';

const NAMES = { taps: 'Taps of one guest', joins: 'Rains joined from one address', 'sign-in': 'Sign-ins of operators' };

/** What the limits refused. */
export function limitsPanel() {
  const list = table('limits', ['Limit', 'Refused'], 'Nothing was refused.');
  const node = panel({ title: 'Requests refused', lib: 'luanest/rate-limit' }, list.node);
  const show = ({ nodes }) =>
    list.fill(
      Object.entries(together(nodes, ({ works }) => works.limits)).map(([rule, refused]) => [
        NAMES[rule] ?? rule,
        count(refused),
      ]),
    );
  return { node, show };
}
