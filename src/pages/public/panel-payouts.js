import { figures, panel } from './dom.js';
import { together } from './counts.js';
import { count } from './figures.js';

/** How the payouts stand: the outbox, the ledger, and those who pay from the one into the other. */
export function payoutsPanel() {
  const list = figures({
    owed: 'Behind',
    open: 'In the outbox',
    pending: 'In work',
    again: 'Tried again',
    over: 'Taken over',
    gaveUp: 'Dead letters',
  });
  const node = panel({ title: 'Payouts', lib: 'luanest/stream-consumer' }, list.node);
  const show = ({ payouts, nodes }) => {
    const counts = together(nodes, ({ works }) => works.streams);
    list.fill({
      owed: payouts.behind === undefined ? 'no ledger' : count(payouts.behind),
      open: count(payouts.open),
      pending: count(payouts.pending),
      again: count(counts.retried ?? 0),
      over: count(counts['taken-over'] ?? 0),
      gaveUp: count(payouts.dead),
    });
  };
  return { node, show };
}
