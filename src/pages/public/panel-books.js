import { at, figures, panel, write } from './dom.js';
import { count, money } from './figures.js';

const MOST_SHOWN = 4;

/** How the packets lie in the buckets. */
function spread(pools) {
  if (pools.length <= MOST_SHOWN) return pools.map(count).join(' · ');
  return `${count(Math.min(...pools))} to ${count(Math.max(...pools))} in ${pools.length}`;
}

/** Where every packet and every cent of the rain is, and how fast it goes. */
export function booksPanel() {
  const list = figures({
    rate: 'Grants a second',
    winners: 'Winners',
    pool: 'Packets left',
    latency: 'Latency p50 / p99',
    money: 'In the pool',
    moving: 'Between buckets',
    granted: 'Granted',
    refunded: 'Refunded',
    allotted: 'Allotted',
    paid: 'Paid',
    behind: 'Payouts behind',
    buckets: 'Packets by bucket',
  });
  const node = panel({ title: 'Books', lib: 'luanest/red-packet', width: 'wide' }, list.node);
  const show = ({ status, audit, ledger, grantsPerSecond, payoutsBehind, nodes }) => {
    const slowest = (pick) => Math.max(0, ...nodes.map(pick)).toFixed(1);
    list.fill({
      rate: count(grantsPerSecond),
      winners: count(status.grantedPackets),
      pool: `${count(status.remainingPackets)} of ${count(status.packets)}`,
      latency: `${slowest((each) => each.p50Ms)} / ${slowest((each) => each.p99Ms)} ms`,
      money: money(status.remainingCents - status.movingCents),
      moving: money(status.movingCents),
      granted: money(status.grantedCents),
      refunded: money(status.refundedCents),
      allotted: money(status.totalCents),
      paid: ledger === undefined ? 'no ledger' : `${money(ledger.cents)} to ${count(ledger.users)}`,
      behind: payoutsBehind === undefined ? 'no ledger' : count(payoutsBehind),
      buckets: spread(audit.buckets.map(({ pool }) => pool.packets)),
    });
  };
  return { node, show };
}

const COUNTED_AT_REST = 'The records are counted when the rain is at rest.';

/** Whether the last count is of the rain as it is now. */
function isNow(counted, { grantedPackets, refundedPackets }) {
  return counted?.quiet && counted.granted.packets === grantedPackets && counted.refunded.packets === refundedPackets;
}

/** The audit in green or red. */
export function showAudit({ status, faults, counted }) {
  const banner = at('audit');
  const state = faults.length > 0 ? 'red' : 'green';
  banner.dataset.state = state;
  const records = isNow(counted, status) ? 'Every record was counted, too.' : COUNTED_AT_REST;
  const fine = `Every cent adds up: pool + moving + granted + refunded = ${money(status.totalCents)}. ${records}`;
  write(banner, state === 'green' ? fine : `This does not add up: ${faults.join('; ')}.`);
}
