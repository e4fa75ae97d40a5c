import { element, panel, table, write } from './dom.js';
import { ago, together } from './counts.js';
import { count, money, short } from './figures.js';

/** The lock under which one process at a time counts every record, and what the last count found. */
export function lockPanel() {
  const note = element('p', { className: 'note', id: 'lock' });
  const list = table('counted', ['Counted', 'Packets', 'Money'], 'Nothing was counted yet.');
  const node = panel({ title: 'Counting every record', lib: 'luanest/lock', width: 'half' }, note, list.node);
  const show = ({ counting, counted, nodes, redisNowMs, atMs }) => {
    const { lost = 0 } = together(nodes, ({ works }) => works.locks);
    const held = counting.held
      ? `${counting.holder} counts, since ${ago(counting.since, redisNowMs)}`
      : 'Nobody counts';
    const last =
      counted === undefined
        ? ''
        : ` The last count, by ${counted.node} under fence ${short(counted.fence)}, took ${count(counted.tookMs)} ms, ${ago(counted.atMs, atMs)}.`;
    const changed = counted?.quiet === false ? ' The records changed meanwhile, so they were not compared.' : '';
    write(note, `${held}; ${count(lost)} locks were lost.${last}${changed}`);
    if (counted === undefined) return list.fill([]);
    const row = (name, { packets, cents }) => [name, count(packets), money(cents)];
    list.fill([
      row('Granted', counted.granted),
      row('In the pool', counted.pool),
      row('Refunded', counted.refunded),
      ...(counted.paid === undefined ? [] : [row('Paid, by the ledger', counted.paid)]),
    ]);
  };
  return { node, show };
}
