// What the pages say, in both languages.
const WORDS = {
  en: {
    title: 'Red packet rain',
    switch: '中文',
    switchLabel: 'Switch to Chinese',
    grab: 'Grab a packet',
    loading: 'Looking for a rain…',
    none: 'No rain today. Come back later!',
    open: 'Packets are falling. Tap one, or press the space bar.',
    won: 'You won',
    'already-won': 'You already have this packet',
    'sold-out': 'All packets are gone. Good luck next time!',
    'not-open': 'The rain has not begun yet.',
    paused: 'The rain is paused for a moment.',
    ended: 'The rain is over.',
    closed: 'The rain is over.',
    failed: 'That did not work. Try again.',
    left: (left, all) => `${left} of ${all} packets left`,
    close: 'Close',
    packet: 'A red packet',
  },
  zh: {
    title: '红包雨',
    switch: 'English',
    switchLabel: '切换到英文',
    grab: '抢红包',
    loading: '正在寻找红包雨……',
    none: '现在没有红包雨，稍后再来吧！',
    open: '红包来啦！点一个，或按空格键。',
    won: '恭喜你抢到',
    'already-won': '你已经抢到过这个红包',
    'sold-out': '红包抢完了，下次好运！',
    'not-open': '红包雨还没有开始。',
    paused: '红包雨暂停一下。',
    ended: '红包雨结束了。',
    closed: '红包雨结束了。',
    failed: '没有成功，请再试一次。',
    left: (left, all) => `还剩 ${left} / ${all} 个红包`,
    close: '关闭',
    packet: '红包',
  },
};

/** The visitor's language: the one chosen before, else the browser's. */
export function language() {
  const chosen = localStorage.getItem('language');
  if (chosen in WORDS) return chosen;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

/** Remembers a language. */
export function choose(next) {
  localStorage.setItem('language', next);
}

/** The words of a language. */
export function wordsOf(name) {
  return WORDS[name];
}

/** Integer cents as money; no floating point touches them. */
export function money(cents) {
  return `¥${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
