import { clock, count, money } from './figures.js';
import { asGuest, isKnown, TooManyGuests } from './guest.js';
import { rainInto } from './sky.js';
import { choose, language, otherThan, speakPage } from './language.js';
import { fillWinners } from './winners.js';
import { wordsOf } from './words.js';

const POLL_MS = 1_000;
/** Largest random addition to POLL_MS, ms, so that visitors do not all send requests at the same instant. */
const JITTER_MS = 300;
const ANSWER_MS = 8_000;
const TICK_MS = 200;
const MOST_REPEATS = 10;
const MOST_TOLD_MS = 86_400_000;

/** Time without a response after which the page says so, ms, although the request goes on. */
const SILENT_MS = 3_000;

/** @typedef {import('../../rains/rains.service.js').RainSight} RainSight */
/** @typedef {import('luanest/red-packet').GrabResult} GrabResult */
/** @typedef {import('luanest/red-packet').Packet} Packet */

/**
 * Returns the element with an id, of the page's own HTML. Its type is not checked.
 *
 * @param {string} id
 * @returns {any}
 */
const at = (id) => document.getElementById(id);
const [message, left, countdown, ends, result, winners] = [
  'message',
  'left',
  'countdown',
  'ends',
  'result',
  'winners',
].map(at);

let lang = language();
let words = wordsOf(lang);
/** @type {RainSight | undefined} */
let rain;
let mood = 'loading';
let grabbing = false;
/** The mood whose text is shown, or over which the outcome of a grab is shown. @type {string | undefined} */
let told;
/** True if the app responded to the last request, or has had less than 3 s for the present one. */
let reachable = true;
/** When the present look at the rain began, by this page's monotonic clock; undefined between two. @type {number | undefined} */
let askedAt;
/** The hint about the space bar is shown only where there is a keyboard. */
const hasKeyboard = matchMedia('(hover: hover) and (pointer: fine)').matches;
/** When the rain opens, by this page's monotonic clock; undefined if not known. @type {number | undefined} */
let opensAt;
/** When the rain ends, likewise. @type {number | undefined} */
let endsAt;
/** @type {import('../../points/points.controller.js').Points | undefined} */
let points;

/**
 * Returns the text for a status or a state; undefined if there is none, as for one of a newer version of the app.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
const textFor = (name) => /** @type {Record<string, any>} */ (words)[name];

function speak() {
  speakPage(lang, words);
  told = undefined;
  show(mood);
  showRain();
  showPoints();
  showConnection();
  void showWinners();
}

/**
 * Sets a text only if it changes; otherwise a screen reader would read it again each time.
 *
 * @param {Element} element
 * @param {string} text
 */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {string} next */
function show(next) {
  mood = next;
  // What a grab has said stays until the mood changes.
  if (!grabbing && told !== next) {
    told = next;
    // A state without a text, of a newer version of the app, is shown by its name.
    write(message, next === 'open' && !hasKeyboard ? words.openByTouch : (textFor(next) ?? next));
  }
  document.body.dataset.mood = next;
  winners.hidden = !['won', 'already-won'].includes(next);
  showBusy();
}

/**
 * Shows why a grab has won nothing, while the rain is open.
 *
 * @param {string} text
 */
function stay(text) {
  write(message, text);
  told = 'open';
}

/** While a grab is in flight, the button shows it and is disabled. */
function showBusy() {
  at('grab').disabled = mood !== 'open' || grabbing;
  at('grab').ariaBusy = String(grabbing);
}

function showConnection() {
  write(at('connection'), reachable ? '' : words.offline);
}

function showRain() {
  const seen = ['open', 'paused', 'won', 'already-won'].includes(mood) ? rain : undefined;
  write(left, seen ? words.left(count(seen.remainingPackets), count(seen.packets)) : '');
}

function showPoints() {
  write(at('points'), points === undefined ? '' : words.points(points.points, points.remaining));
}

/** Loads who got how much, while that list is open. */
async function showWinners() {
  if (!winners.open || rain === undefined) return;
  // The rows that are shown stay if the app does not respond.
  await fillWinners(at('shares'), rain.activityId, words).catch(() => undefined);
}

function tick() {
  const now = performance.now();
  const opens = mood === 'preheated' && opensAt !== undefined ? opensAt - now : 0;
  at('opens').hidden = opens <= 0;
  write(countdown, opens > 0 ? clock(opens) : '');
  const toEnd = mood === 'open' && endsAt !== undefined ? endsAt - now : 0;
  write(ends, toEnd > 0 && toEnd < MOST_TOLD_MS ? words.endsIn(clock(toEnd)) : '');
  if (reachable && askedAt !== undefined && now - askedAt >= SILENT_MS) {
    reachable = false;
    showConnection();
  }
}

/**
 * @param {string} path
 * @returns {Promise<any>}
 */
async function ask(path) {
  const response = await fetch(path, { signal: AbortSignal.timeout(ANSWER_MS) });
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.json();
}

async function lookForRain() {
  const asked = new URLSearchParams(location.search).get('rain');
  /** @type {RainSight | null | undefined} */
  const seen = asked === null ? (await ask('/rains/latest')).rain : await ask(`/rains/${encodeURIComponent(asked)}`);
  if (!seen) {
    rain = undefined;
    show('none');
    return showRain();
  }
  const other = rain?.activityId !== seen.activityId;
  rain = seen;
  const now = performance.now();
  opensAt = seen.opensInMs === null ? undefined : now + seen.opensInMs;
  endsAt = seen.endsInMs === null ? undefined : now + seen.endsInMs;
  if (other) {
    mood = 'loading';
    winners.open = false;
    at('shares').replaceChildren();
    await lookForMine(seen.activityId);
  }
  if (!['won', 'already-won'].includes(mood)) show(seen.state);
  showRain();
}

/**
 * Shows the packet and the points that this visitor has already.
 *
 * @param {string} activityId
 */
async function lookForMine(activityId) {
  if (!isKnown()) return;
  const response = await asGuest(`/red-packets/${encodeURIComponent(activityId)}/mine`);
  if (response.ok) keep('already-won', await response.json());
  const mine = await asGuest('/points');
  if (mine.ok) points = await mine.json();
  showPoints();
}

/**
 * Sends the grab again until the result is final, at most ten times again.
 *
 * @param {string} activityId
 * @returns {Promise<GrabResult | { status: 'too-fast' }>}
 */
async function askForPacket(activityId) {
  for (let turn = 0; ; turn += 1) {
    const response = await asGuest(`/red-packets/${encodeURIComponent(activityId)}/grab`, 'POST');
    if (response.status === 429) return { status: 'too-fast' };
    const answer = await response.json();
    const again = answer.status === 'try-again' || answer.status === 'unconfirmed';
    if (!again || turn >= MOST_REPEATS) return answer;
    write(message, textFor(answer.status) ?? '');
    await new Promise((resolve) => setTimeout(resolve, answer.retryAfterMs));
  }
}

async function grab() {
  if (grabbing || mood !== 'open' || rain === undefined) return;
  const { activityId } = rain;
  grabbing = true;
  told = undefined;
  showBusy();
  write(message, words['try-again']);
  let answer;
  try {
    answer = await askForPacket(activityId);
    // From here on, the result stays on the screen.
    grabbing = false;
    if (answer.status === 'won' && rain !== undefined && rain.remainingPackets > 0) {
      rain = { ...rain, remainingPackets: rain.remainingPackets - 1 };
    }
    if ('packet' in answer && answer.packet !== undefined) open(answer.status, answer.packet);
    else if (answer.status === 'not-open') show(answer.reason);
    else if (answer.status === 'sold-out') show('sold-out');
    else stay(textFor(answer.status) ?? words.failed);
    showRain();
  } catch (error) {
    // The visitor may tap again: they get the same packet if they have won one.
    stay(error instanceof TooManyGuests ? words['too-many-guests'] : words.failed);
  } finally {
    grabbing = false;
    showBusy();
  }
  // A failed request for the point does not hide the packet.
  if (answer?.status !== undefined) await join(activityId).catch(() => undefined);
}

/** @param {string} activityId */
async function join(activityId) {
  const response = await asGuest(`/points/${encodeURIComponent(activityId)}`, 'POST');
  if (response.ok) points = await response.json();
  showPoints();
}

/**
 * @param {string} status
 * @param {Packet} packet
 */
function keep(status, packet) {
  show(status);
  write(at('kept'), money(packet.amountCents));
}

/**
 * @param {string} status
 * @param {Packet} packet
 */
function open(status, packet) {
  keep(status, packet);
  at('outcome').textContent = textFor(status) ?? status;
  at('amount').textContent = money(packet.amountCents);
  result.showModal();
}

winners.addEventListener('toggle', () => void showWinners());
at('grab').addEventListener('click', () => void grab());
document.addEventListener('keydown', (event) => {
  if (event.code !== 'Space' || event.repeat || result.open || event.target instanceof HTMLButtonElement) return;
  event.preventDefault();
  void grab();
});
at('language').addEventListener('click', () => {
  lang = otherThan(lang);
  choose(lang);
  words = wordsOf(lang);
  speak();
});

speak();
rainInto(
  at('sky'),
  () => mood === 'open',
  () => void grab(),
);
setInterval(tick, TICK_MS);
for (;;) {
  if (!document.hidden) {
    askedAt = performance.now();
    reachable = await lookForRain().then(
      () => true,
      () => false,
    );
    askedAt = undefined;
    if (!reachable && mood === 'loading') show('failed');
    showConnection();
  }
  const next = Math.min(POLL_MS, opensAt === undefined ? POLL_MS : Math.max(50, opensAt - performance.now()));
  await new Promise((resolve) => setTimeout(resolve, next + Math.random() * JITTER_MS));
}
