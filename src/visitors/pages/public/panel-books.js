import { at, figures, panel, write } from './dom.js';
import { count, money } from './figures.js';
import { w } from './operator-words.js';

const MOST_SHOWN = 4;

/** Returns the packets of each bucket as a text; with many buckets, the least and the most. */
function spread(pools) {
  if (pools.length <= MOST_SHOWN) return pools.map(count).join(' · ');
  return w.spread(count(Math.min(...pools)), count(Math.max(...pools)), pools.length);
}

/** Makes the panel with all packets and cents of the rain, the rate of grants and the latency. */
export function booksPanel() {
  const list = figures({
    rate: 'rate',
    winners: 'winners',
    pool: 'pool',
    latency: 'latency',
    money: 'money',
    moving: 'moving',
    granted: 'granted',
    refunded: 'refunded',
    allotted: 'allotted',
    paid: 'paid',
    behind: 'behind',
    buckets: 'byBucket',
  });
  const node = panel({ title: 'books', lib: 'luanest/red-packet', width: 'wide' }, list.node);
  const show = ({ status, audit, ledger, grantsPerSecond, payoutsBehind, nodes }) => {
    const slowest = (pick) => Math.max(0, ...nodes.map(pick)).toFixed(1);
    list.fill({
      rate: count(grantsPerSecond),
      winners: count(status.grantedPackets),
      pool: w.of(count(status.remainingPackets), count(status.packets)),
      latency: `${slowest((each) => each.p50Ms)} / ${slowest((each) => each.p99Ms)} ms`,
      money: money(status.remainingCents - status.movingCents),
      moving: money(status.movingCents),
      granted: money(status.grantedCents),
      refunded: money(status.refundedCents),
      allotted: money(status.totalCents),
      paid: ledger === undefined ? w.noLedger : w.paidTo(money(ledger.cents), count(ledger.users)),
      behind: payoutsBehind === undefined ? w.noLedger : count(payoutsBehind),
      buckets: spread(audit.buckets.map(({ pool }) => pool.packets)),
    });
  };
  return { node, show };
}

/** Returns true if nothing was granted or refunded since the last count of all records. */
function isNow(counted, { grantedPackets, refundedPackets }) {
  return counted?.quiet && counted.granted.packets === grantedPackets && counted.refunded.packets === refundedPackets;
}

/** Shows the result of the audit: green without faults, else red with the faults. */
export function showAudit({ status, faults, counted }) {
  const banner = at('audit');
  const state = faults.length > 0 ? 'red' : 'green';
  banner.dataset.state = state;
  const records = isNow(counted, status) ? w.countedToo : w.notCounted;
  write(banner, state === 'green' ? w.fine(money(status.totalCents), records) : w.faults(faults));
}
