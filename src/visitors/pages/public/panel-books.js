import { at, figures, panel, write } from './dom.js';
import { count, money } from './figures.js';
import { w } from './operator-words.js';

/** Maximum number of characters that fit into one line. */
const MOST_CHARS = 16;

/**
 * Returns the packets of each bucket as a text; if that is long, the least and the most.
 *
 * @param {readonly number[]} pools
 */
function spread(pools) {
  const all = pools.map(count).join(' · ');
  if (all.length <= MOST_CHARS) return all;
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
  const show = (
    /** @type {import('./follow.js').View} */ { status, audit, ledger, grantsPerSecond, payoutsBehind, nodes },
  ) => {
    const slowest = (/** @type {(node: import('./counts.js').Node) => number} */ pick) =>
      Math.max(0, ...nodes.map(pick)).toFixed(1);
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

/**
 * Returns true if nothing was granted or refunded since the last count of all records.
 *
 * @param {import('./follow.js').View['counted']} counted
 * @param {import('./follow.js').View['status']} status
 */
function isNow(counted, { grantedPackets, refundedPackets }) {
  return counted?.quiet && counted.granted.packets === grantedPackets && counted.refunded.packets === refundedPackets;
}

/**
 * Shows the result of the audit: green without faults, else red with the faults.
 *
 * @param {import('./follow.js').View} view
 */
export function showAudit({ status, faults, counted }) {
  const records = isNow(counted, status) ? w.countedToo : w.notCounted;
  if (faults.length > 0) banner('red', w.faults(faults));
  else banner('green', w.fine(money(status.totalCents), records));
}

/**
 * Shows in grey that there has been no news. What the audit said is no longer known to be so.
 *
 * @param {number} ms
 */
export function showSilence(ms) {
  const seconds = Math.floor(ms / 1_000);
  // Not each second, because a screen reader reads each change.
  banner('silent', w.silent(seconds < 10 ? 3 : seconds - (seconds % 10)));
}

/**
 * @param {'green' | 'red' | 'silent'} state
 * @param {string} text
 */
function banner(state, text) {
  at('audit').dataset.state = state;
  write(at('audit'), text);
}
