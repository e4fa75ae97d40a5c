import { choose, language, money, wordsOf } from './words.js';

const POLL_MS = 1_000;
const SPAWN_MS = 350;
const MOST_PACKETS = 24;

const at = (id) => document.getElementById(id);
const [sky, message, left, grabButton, result] = ['sky', 'message', 'left', 'grab', 'result'].map(at);

let lang = language();
let words = wordsOf(lang);
let rain;
let mood = 'loading';
let grabbing = false;

function speak() {
  document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
  document.title = words.title;
  for (const element of document.querySelectorAll('[data-word]')) element.textContent = words[element.dataset.word];
  at('language').textContent = words.switch;
  at('language').ariaLabel = words.switchLabel;
  show(mood);
}

function show(next) {
  mood = next;
  // A state that a later version of the app adds is still told, by its own name.
  const text = words[next] ?? next;
  if (message.textContent !== text) message.textContent = text;
  document.body.dataset.mood = next;
  grabButton.disabled = next !== 'open';
  if (next !== 'open') sky.replaceChildren();
}

async function ask(path, options = {}) {
  const response = await fetch(path, options);
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.json();
}

async function token() {
  const known = localStorage.getItem('token');
  if (known !== null) return known;
  const guest = await ask('/guests', { method: 'POST' });
  localStorage.setItem('token', guest.token);
  return guest.token;
}

async function lookForRain() {
  const asked = new URLSearchParams(location.search).get('rain');
  const activityId = asked ?? (await ask('/rains/latest')).activityId;
  const status = activityId === null ? undefined : await ask(`/red-packets/${encodeURIComponent(activityId)}`);
  if (status === undefined) {
    left.textContent = '';
    return show('none');
  }
  if (rain !== status.activityId) {
    rain = status.activityId;
    mood = 'loading';
  }
  left.textContent = words.left(status.remainingPackets, status.packets);
  if (mood === 'won' || mood === 'already-won') return;
  if (status.state !== 'open')
    return show(status.state === 'draft' || status.state === 'preheated' ? 'not-open' : status.state);
  show(status.remainingPackets > 0 ? 'open' : 'sold-out');
}

async function grab() {
  if (grabbing || mood !== 'open') return;
  grabbing = true;
  try {
    const headers = { authorization: `Bearer ${await token()}` };
    const response = await fetch(`/red-packets/${encodeURIComponent(rain)}/grab`, { method: 'POST', headers });
    if (response.status === 401) localStorage.removeItem('token');
    const answer = await response.json();
    if (answer.outcome === undefined) return show('failed');
    show(answer.outcome);
    if (answer.packet !== undefined) open(answer);
  } catch {
    // Asking again is safe: the same visitor gets the same packet.
    message.textContent = words.failed;
  } finally {
    grabbing = false;
  }
}

function open({ outcome, packet }) {
  at('outcome').textContent = words[outcome] ?? outcome;
  at('amount').textContent = money(packet.amountCents);
  result.showModal();
}

function drop() {
  if (mood !== 'open' || sky.childElementCount >= MOST_PACKETS || document.hidden) return;
  const packet = document.createElement('button');
  packet.type = 'button';
  packet.className = 'packet';
  // Not in the order of the tab key: what moves cannot be aimed at, and the button below does the same.
  packet.tabIndex = -1;
  packet.style.left = `${4 + Math.random() * 84}%`;
  packet.style.animationDuration = `${3.5 + Math.random() * 3}s`;
  packet.addEventListener('animationend', () => packet.remove());
  packet.addEventListener('pointerdown', () => {
    packet.classList.add('tapped');
    void grab();
  });
  sky.append(packet);
}

grabButton.addEventListener('click', () => void grab());
document.addEventListener('keydown', (event) => {
  if (event.code !== 'Space' || event.repeat || result.open || event.target instanceof HTMLButtonElement) return;
  event.preventDefault();
  void grab();
});
at('language').addEventListener('click', () => {
  lang = lang === 'zh' ? 'en' : 'zh';
  choose(lang);
  words = wordsOf(lang);
  speak();
  void lookForRain().catch(() => undefined);
});

speak();
for (;;) {
  await lookForRain().catch(() => show('failed'));
  const until = performance.now() + POLL_MS;
  while (performance.now() < until) {
    drop();
    await new Promise((resolve) => setTimeout(resolve, SPAWN_MS));
  }
}
