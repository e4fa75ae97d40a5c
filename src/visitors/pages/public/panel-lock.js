import { element, panel, table, write } from './dom.js';
import { ago, together } from './counts.js';
import { count, money, short } from './figures.js';
import { w } from './operator-words.js';

/** Makes the panel of the lock under which one process at a time counts every record, and of the last count. */
export function lockPanel() {
  const note = element('p', { className: 'note', id: 'lock' });
  const list = table('counted', ['counted', 'packets', 'sum'], 'noCount');
  const node = panel({ title: 'counting', lib: 'luanest/lock', width: 'half' }, note, list.node);
  const show = (/** @type {import('./follow.js').View} */ { counting, counted, nodes, redisNowMs, atMs }) => {
    const { lost = 0 } = together(nodes, ({ works }) => works.locks);
    const held = counting.held
      ? w.someoneCounts(counting.node, ago(counting.acquiredAtMs, redisNowMs))
      : w.nobodyCounts;
    const last =
      counted === undefined
        ? ''
        : w.lastCount(counted.node, short(counted.fence), count(counted.tookMs), ago(counted.atMs, atMs));
    const changed = counted?.quiet === false ? w.changedMeanwhile : '';
    write(note, `${w.locksLost(held, count(lost))}${last}${changed}`);
    if (counted === undefined) return list.fill([]);
    /** @type {(name: string, amount: { packets: number, cents: number }) => string[]} */
    const row = (name, { packets, cents }) => [name, count(packets), money(cents)];
    list.fill([
      row(w.granted, counted.granted),
      row(w.money, counted.pool),
      row(w.refunded, counted.refunded),
      ...(counted.paid === undefined ? [] : [row(w.paidByLedger, counted.paid)]),
    ]);
  };
  return { node, show };
}
