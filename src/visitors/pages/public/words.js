// Texts of the visitors' page in both languages.

/** @satisfies {Record<import('./language.js').Language, Record<string, string | ((...values: any[]) => string)>>} */
const WORDS = {
  en: {
    title: 'Red packet rain',
    switch: '中文',
    switchLabel: '中文 (Switch to Chinese)',
    grab: 'Grab a packet',
    loading: 'Looking for a rain…',
    none: 'No rain today. Come back later!',
    draft: 'The rain is being prepared.',
    preheated: 'The rain has not begun yet.',
    open: 'Packets are falling. Tap one, or press the space bar.',
    openByTouch: 'Packets are falling. Tap one.',
    offline: 'No connection. Trying again…',
    won: 'You won',
    'already-won': 'You have this packet',
    'sold-out': 'All packets are gone. Good luck next time!',
    unknown: 'This rain is no longer there.',
    paused: 'The rain is paused for a moment.',
    ended: 'The rain is over.',
    closed: 'The rain is over.',
    'try-again': 'Looking for a packet for you…',
    unconfirmed: 'Your packet is on its way…',
    'too-many-tries': 'You have used up your tries.',
    'not-eligible': 'This rain is not for you.',
    'too-many-guests': 'Too many new guests came from your network. Try again in a minute.',
    'too-fast': 'That was too fast. Wait a moment.',
    failed: 'That did not work. Try again.',
    opensIn: 'It begins in',
    endsIn: (time) => `Ends in ${time}`,
    left: (left, all) => `${left} of ${all} packets left`,
    points: (points, more) =>
      more === 0
        ? `${points} points today: that is all for today`
        : `${points} ${points === 1 ? 'point' : 'points'} today, one for each rain; ${more} more to win`,
    winners: 'Who got how much',
    you: 'You',
    luckiest: 'Luckiest',
    guest: (name) => `Guest ${name}`,
    close: 'Close',
  },
  zh: {
    title: '红包雨',
    switch: 'English',
    switchLabel: 'English (切换到英文)',
    grab: '抢红包',
    loading: '正在寻找红包雨……',
    none: '现在没有红包雨，稍后再来吧！',
    draft: '红包雨正在准备中。',
    preheated: '红包雨还没有开始。',
    open: '红包来啦！点一个，或按空格键。',
    openByTouch: '红包来啦！点一个吧。',
    offline: '网络已断开，正在重试……',
    won: '恭喜你抢到',
    'already-won': '你抢到的红包',
    'sold-out': '红包抢完了，下次好运！',
    unknown: '这场红包雨已经不在了。',
    paused: '红包雨暂停一下。',
    ended: '红包雨结束了。',
    closed: '红包雨结束了。',
    'try-again': '正在为你找红包……',
    unconfirmed: '你的红包正在路上……',
    'too-many-tries': '你的机会用完了。',
    'not-eligible': '你不能参加这场红包雨。',
    'too-many-guests': '来自你的网络的新访客太多，请一分钟后再试。',
    'too-fast': '太快了，请稍等。',
    failed: '没有成功，请再试一次。',
    opensIn: '距离开始还有',
    endsIn: (time) => `还有 ${time} 结束`,
    left: (left, all) => `还剩 ${left} / ${all} 个红包`,
    points: (points, more) =>
      more === 0
        ? `今天已得 ${points} 分，今天的积分已满`
        : `今天已得 ${points} 分，每参加一场得一分，还可得 ${more} 分`,
    winners: '看看大家的手气',
    you: '你',
    luckiest: '手气最佳',
    guest: (name) => `访客 ${name}`,
    close: '关闭',
  },
};

/**
 * Returns the texts of a language.
 *
 * @param {import('./language.js').Language} name
 * @returns {typeof WORDS.en}
 */
export function wordsOf(name) {
  return WORDS[name];
}
