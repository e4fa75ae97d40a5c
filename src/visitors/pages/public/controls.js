import { at, write } from './dom.js';
import { change } from './api.js';
import { clock, money } from './figures.js';
import { sayingOf, w } from './operator-words.js';

const DAY_MS = 86_400_000;

/** @typedef {import('./follow.js').View} View */

/**
 * States of the rain in which each button is enabled.
 *
 * @type {Record<string, View['status']['state'][]>}
 */
const ALLOWED = {
  pause: ['open', 'preheated', 'sold-out'],
  resume: ['paused'],
  close: ['preheated', 'open', 'paused', 'sold-out', 'ended'],
  count: ['preheated', 'open', 'paused', 'sold-out', 'ended', 'closed'],
};

/**
 * Returns a sentence about what happens next to the rain, or what an operator can do.
 *
 * @param {View['status']} status
 * @param {number} now
 */
function hintOf(status, now) {
  const { state, startsAtMs, endsAtMs, expiresAtMs, grantedPackets } = status;
  if (state === 'preheated') return w.opensInTime(clock(startsAtMs - now));
  if (state === 'paused') return grantedPackets === 0 ? w.waits : w.nobodyCan;
  if (state === 'ended') return w.closeToRefund;
  if (state === 'closed') return w.refundedSum(money(status.refundedCents));
  const last = endsAtMs < expiresAtMs ? endsAtMs - now : DAY_MS;
  return last < DAY_MS ? w.endsInTime(clock(last)) : '';
}

/**
 * Shows the state of the rain, and enables the buttons that are allowed in that state.
 *
 * @param {View} view
 */
export function showControls({ status, redisNowMs }) {
  write(at('f-rain'), status.activityId);
  write(at('f-state'), w.states[status.state] ?? status.state);
  at('f-state').dataset.state = status.state;
  write(at('hint'), hintOf(status, redisNowMs));
  for (const [button, states] of Object.entries(ALLOWED)) at(button).disabled = !states.includes(status.state);
  write(at('resume'), status.state === 'paused' && status.grantedPackets > 0 ? w.resume : w.start);
}

/**
 * Makes the buttons act on the rain that is watched.
 *
 * @param {() => string} rainOf
 * @param {import('./follow.js').Complain} complain
 */
export function wireControls(rainOf, complain) {
  const act = async (/** @type {string} */ verb) => {
    complain();
    try {
      await change(`/${verb === 'count' ? 'rains' : 'red-packets'}/${encodeURIComponent(rainOf())}/${verb}`);
    } catch (error) {
      complain(sayingOf(error));
    }
  };
  for (const verb of ['pause', 'resume', 'count']) at(verb).addEventListener('click', () => void act(verb));
  at('close').addEventListener('click', () => at('sure').showModal());
  at('sure').addEventListener('close', () => at('sure').returnValue === 'close' && void act('close'));
}
