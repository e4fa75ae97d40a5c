import { send } from './api.js';

/** @typedef {import('../../../monitoring/live/live.service.js').LiveView} Sent */
/** @typedef {Sent & { grantsPerSecond: number }} View What the panels show: what the app sent, with packets granted per second since the view before. */
/** @typedef {(say?: import('./operator-words.js').Saying, source?: 'live') => void} Complain Shows a problem, or hides it. */

const AGAIN_MS = 500;
/** Time without a view after which the page says so, and connects again, ms. A view is sent every 0.5 s. */
export const SILENT_MS = 3_000;
const CHECK_MS = 250;
/** Longest wait for the first view of a connection, ms. It doubles from SILENT_MS on, so that an app that is slow is not asked for ever. */
const LONGEST_WAIT_MS = 12_000;

/**
 * Reads the live view (server-sent events) until it ends. Uses fetch, because an EventSource cannot send the token. Returns
 * 'refused' if the token is wrong.
 *
 * @param {string} activityId
 * @param {AbortSignal} signal
 * @param {(view: Sent) => void} show
 */
async function follow(activityId, signal, show) {
  const response = await send('GET', `/rains/${encodeURIComponent(activityId)}/live`, { signal });
  if (response.status === 401) return 'refused';
  if (!response.ok || response.body === null) throw new Error(String(response.status));
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const lines = event.split('\n').filter((line) => line.startsWith('data: '));
      const data = lines.map((line) => line.slice('data: '.length)).join('\n');
      if (data !== '') show(JSON.parse(data));
    }
  }
  return 'ended';
}

/**
 * Shows a rain until the signal fires or the token is refused. Opens the live view again when it ends, breaks off, or has been
 * silent for 3 s, as it is if the app hangs or the network is off.
 *
 * @param {string} activityId
 * @param {AbortSignal} signal
 * @param {{ show: (view: Sent) => void, silent: (ms: number) => void, complain: Complain, refused: () => void }} page `silent` is
 * called several times a second while there has been no view for 3 s
 */
export async function watchRain(activityId, signal, { show, silent, complain, refused }) {
  let lastView = performance.now();
  let waitMs = SILENT_MS;
  /** @param {Sent} view */
  const seen = (view) => {
    lastView = performance.now();
    waitMs = SILENT_MS;
    show(view);
  };
  while (!signal.aborted) {
    const connection = new AbortController();
    const connectedAt = performance.now();
    const check = setInterval(() => {
      if (connection.signal.aborted) return;
      const now = performance.now();
      if (now - lastView >= SILENT_MS && !signal.aborted) silent(now - lastView);
      const silentMs = now - Math.max(lastView, connectedAt);
      if (silentMs < (lastView > connectedAt ? SILENT_MS : waitMs)) return;
      if (lastView <= connectedAt) waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      connection.abort();
    }, CHECK_MS);
    try {
      const ended = await follow(activityId, AbortSignal.any([signal, connection.signal]), seen);
      if (ended === 'refused') return refused();
    } catch (error) {
      // Silence is shown in its own way.
      const reason = error instanceof Error ? error.message : String(error);
      if (!signal.aborted && !connection.signal.aborted) complain((words) => words.brokeOff(reason), 'live');
    } finally {
      clearInterval(check);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/**
 * Returns the packets granted per second between two views of a rain; 0 without an earlier view of it. Counted here, because the
 * views may come by several connections, from several processes. Below 10, rounds up to a tenth: one grant in a long silence is
 * not 0.
 *
 * @param {Sent | undefined} last
 * @param {Sent} view
 */
export function rateSince(last, view) {
  if (last === undefined || last.status.activityId !== view.status.activityId) return 0;
  const granted = Math.max(0, view.status.grantedPackets - last.status.grantedPackets);
  const rate = (granted / Math.max(1, view.redisNowMs - last.redisNowMs)) * 1_000;
  return rate < 10 ? Math.ceil(rate * 10) / 10 : Math.round(rate);
}
