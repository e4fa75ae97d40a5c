import { figures, panel } from './dom.js';
import { count } from './figures.js';

/** How the payouts stand: the outbox, the ledger, and whoever consumes the one for the other. */
export function payoutsPanel() {
  const list = figures({
    owed: 'Behind',
    rows: 'In the outbox',
    pending: 'Pending',
    lag: 'Not taken',
    gaveUp: 'Dead letters',
  });
  const node = panel({ title: 'Payouts', lib: 'luanest/stream-consumer' }, list.node);
  const show = ({ payouts: { behind, rows, consumer } }) =>
    list.fill({
      owed: behind === undefined ? 'no ledger' : count(behind),
      rows: count(rows),
      pending: consumer === undefined ? '–' : count(consumer.pending),
      lag: consumer === undefined ? '–' : count(consumer.lag),
      gaveUp: consumer === undefined ? '–' : count(consumer.dead),
    });
  return { node, show };
}
