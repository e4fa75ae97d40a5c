import { figures, panel } from './dom.js';
import { together } from './counts.js';
import { count } from './figures.js';
import { w } from './operator-words.js';

/** Makes the panel of the payouts: the outbox, the ledger, and the processes that book payouts. */
export function payoutsPanel() {
  const list = figures({
    owed: 'owed',
    open: 'inOutbox',
    again: 'again',
    over: 'over',
    gaveUp: 'dead',
  });
  const node = panel({ title: 'payouts', lib: 'luanest/stream-consumer' }, list.node);
  const show = (/** @type {import('./follow.js').View} */ { payouts, nodes }) => {
    const counts = together(nodes, ({ works }) => works.streams);
    list.fill({
      owed: payouts.behind === undefined ? w.noLedger : count(payouts.behind),
      open: count(payouts.open),
      again: count(counts.retried ?? 0),
      over: count(counts['taken-over'] ?? 0),
      gaveUp: count(payouts.deadLetters),
    });
  };
  return { node, show };
}
