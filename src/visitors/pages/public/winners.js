// The list of who got how much, for a visitor who has won.
import { money } from './figures.js';
import { asGuest } from './guest.js';

/** Maximum number of packets that are shown. */
const MOST = 50;

/** @typedef {import('luanest/red-packet').ResultsPage} ResultsPage */
/** @typedef {ResultsPage['items'][number]} Row */
/** @typedef {{ you: string, luckiest: string, guest: (name: string) => string }} Words */

/**
 * Fills a list with up to 50 packets of a rain, the largest first, and the visitor's own.
 *
 * @param {Element} list
 * @param {string} activityId
 * @param {Words} words
 */
export async function fillWinners(list, activityId, words) {
  const response = await asGuest(`/red-packets/${encodeURIComponent(activityId)}/results?limit=${MOST}`);
  if (!response.ok) throw new Error(`The results answered ${response.status}`);
  /** @type {ResultsPage} */
  const { items, own, luckiest } = await response.json();
  /** @type {Map<string, Row>} */
  const rows = new Map(items.slice(0, MOST).map((row) => [row.packetId, row]));
  if (luckiest !== undefined) rows.set(luckiest.packetId, luckiest);
  if (!rows.has(own.packetId)) rows.set(own.packetId, { ...own, own: true, luckiest: false });
  const sorted = [...rows.values()].sort((one, other) => other.amountCents - one.amountCents);
  list.replaceChildren(...sorted.map((row) => itemOf(row, words)));
}

/**
 * @param {Row} row
 * @param {Words} words
 */
function itemOf({ own, luckiest, name, amountCents }, words) {
  const item = document.createElement('li');
  const who = document.createElement('span');
  who.textContent = own ? words.you : words.guest(name ?? '');
  if (luckiest) who.append(' ', Object.assign(document.createElement('strong'), { textContent: words.luckiest }));
  item.append(who, Object.assign(document.createElement('span'), { textContent: money(amountCents) }));
  return item;
}
