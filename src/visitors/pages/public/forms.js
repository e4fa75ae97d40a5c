import { at, write } from './dom.js';
import { change, read } from './api.js';
import { SaidError, sayingOf, w } from './operator-words.js';

/** Time until a rain that an operator starts by hand would open, ms. By then its pool must be full, and it must be paused. */
const heldMs = (/** @type {number} */ packets) => 3_000 + packets / 50;

const newName = () => `rain-${Date.now().toString(36)}`;
const numberOf = (/** @type {string} */ id) => Number(at(id).value);

/**
 * Parses an amount such as 12.50 as integer cents.
 *
 * @param {string} text
 * @throws {SaidError} if the text is not an amount
 */
function cents(text) {
  const match = /^(\d{1,12})(?:\.(\d{1,2}))?$/.exec(text);
  if (match === null) throw new SaidError((words) => words.notMoney(text));
  return Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
}

/**
 * Runs `work` when a form is submitted, and shows its error. The buttons of the form are disabled meanwhile.
 *
 * @param {string} form
 * @param {import('./follow.js').Complain} complain
 * @param {() => Promise<void>} work
 */
export function onSubmit(form, complain, work) {
  at(form).addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    complain();
    const buttons = at(form).querySelectorAll('button');
    for (const button of buttons) button.disabled = true;
    work()
      .catch((error) => complain(sayingOf(error)))
      .finally(() => {
        for (const button of buttons) button.disabled = false;
      });
  });
}

/**
 * Returns the body of the request that makes the rain of the form.
 *
 * @param {number} redisNowMs Redis' time, by which rains begin
 */
function rainOf(redisNowMs) {
  const byHand = at('opens').value === 'hand';
  const wait = byHand ? heldMs(numberOf('packets')) : at('opens').value === 'later' ? numberOf('opens-in') * 1_000 : 0;
  const opens = redisNowMs + wait;
  return {
    activityId: at('activity').value,
    total: at('total').value,
    packets: numberOf('packets'),
    split: at('split').value,
    buckets: numberOf('buckets'),
    ...(at('cap').value !== '' && { maxCents: cents(at('cap').value) }),
    ...(at('tries').value !== '' && { maxTries: numberOf('tries') }),
    ...(wait > 0 && { startsAtMs: opens }),
    ...(at('lasts').value !== '' && { endsAtMs: opens + numberOf('lasts') * 1_000 }),
  };
}

/**
 * Makes the form work that creates rains.
 *
 * @param {import('./follow.js').Complain} complain
 * @param {(activityId: string) => void} watch shows the new rain
 */
export function wireCreate(complain, watch) {
  at('activity').value = newName();
  const adapt = () => {
    at('opens-in').disabled = at('opens').value !== 'later';
    // Without a known start there is no known end.
    at('lasts').disabled = at('opens').value === 'hand';
    if (at('lasts').disabled) at('lasts').value = '';
  };
  at('opens').addEventListener('change', adapt);
  adapt();
  onSubmit('create', complain, async () => {
    const rain = rainOf((await read('/rains')).redisNowMs);
    await change('/red-packets', rain);
    if (at('opens').value === 'hand') await change(`/red-packets/${encodeURIComponent(rain.activityId)}/pause`);
    at('activity').value = newName();
    at('make').open = false;
    watch(rain.activityId);
  });
}

/**
 * Shows again when the crowd comes, after the language was changed.
 *
 * @type {() => void}
 */
export let sayCrowd = () => undefined;

/**
 * Makes the form work that starts crowds.
 *
 * @param {import('./follow.js').Complain} complain
 * @param {() => string} rainOfView returns the id of the watched rain
 */
export function wireCrowd(complain, rainOfView) {
  onSubmit('crowd', complain, async () => {
    const { started } = await change(`/rains/${encodeURIComponent(rainOfView())}/crowd`, {
      users: numberOf('users'),
      taps: numberOf('taps'),
      hammers: numberOf('hammers'),
      delayMs: numberOf('crowd-in') * 1_000,
    });
    const seconds = at('crowd-in').value;
    sayCrowd = () => write(at('crowd-said'), started ? w.crowdHere : w.crowdComes(seconds));
    sayCrowd();
  });
}
