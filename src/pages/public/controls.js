import { at, write } from './dom.js';
import { change } from './api.js';
import { clock, money } from './figures.js';

const STATES = {
  draft: 'being prepared',
  preheated: 'not open yet',
  open: 'open',
  paused: 'paused',
  'sold-out': 'sold out',
  ended: 'ended',
  closed: 'closed',
};
const DAY_MS = 86_400_000;

/** What may be done in which state. */
const ALLOWED = {
  pause: ['open', 'preheated', 'sold-out'],
  resume: ['paused'],
  close: ['preheated', 'open', 'paused', 'sold-out', 'ended'],
  count: ['preheated', 'open', 'paused', 'sold-out', 'ended', 'closed'],
};

/** Where the rain stands in its life, in words. */
function hintOf(status, now) {
  const { state, startsAtMs, endsAtMs, expiresAtMs, grantedPackets } = status;
  if (state === 'preheated') return `opens in ${clock(startsAtMs - now)}`;
  if (state === 'paused') return grantedPackets === 0 ? 'waits for you to start it' : 'nobody can grab';
  if (state === 'ended') return 'close it to refund what is left';
  if (state === 'closed') return `${money(status.refundedCents)} refunded`;
  const last = endsAtMs < expiresAtMs ? endsAtMs - now : DAY_MS;
  return last < DAY_MS ? `ends in ${clock(last)}` : '';
}

/** Shows the state, and which buttons make sense in it. */
export function showControls({ status, redisNowMs }) {
  write(at('f-rain'), status.activityId);
  write(at('f-state'), STATES[status.state] ?? status.state);
  at('f-state').dataset.state = status.state;
  write(at('hint'), hintOf(status, redisNowMs));
  for (const [button, states] of Object.entries(ALLOWED)) at(button).disabled = !states.includes(status.state);
  write(at('resume'), status.state === 'paused' && status.grantedPackets > 0 ? 'Resume' : 'Start');
}

/** Lets the buttons act on the rain that is watched. */
export function wireControls(rainOf, complain) {
  const act = async (verb) => {
    complain('');
    try {
      await change(`/${verb === 'count' ? 'rains' : 'red-packets'}/${encodeURIComponent(rainOf())}/${verb}`);
    } catch (error) {
      complain(error.message);
    }
  };
  for (const verb of ['pause', 'resume', 'count']) at(verb).addEventListener('click', () => void act(verb));
  at('close').addEventListener('click', () => at('sure').showModal());
  at('sure').addEventListener('close', () => at('sure').returnValue === 'close' && void act('close'));
}
