import { send } from './api.js';

const AGAIN_MS = 500;

/**
 * Reads the live view (server-sent events) until it ends. Uses fetch, because an EventSource cannot send the token. Returns
 * 'refused' if the token is wrong.
 */
async function follow(activityId, signal, show) {
  const response = await send('GET', `/rains/${encodeURIComponent(activityId)}/live`, { signal });
  if (response.status === 401) return 'refused';
  if (!response.ok) throw new Error(String(response.status));
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) {
      const lines = event.split('\n').filter((line) => line.startsWith('data: '));
      const data = lines.map((line) => line.slice('data: '.length)).join('\n');
      if (data !== '') show(JSON.parse(data));
    }
  }
  return 'ended';
}

/** Shows a rain until the signal fires or the token is refused. Opens the live view again when it ends or breaks off. */
export async function watchRain(activityId, signal, { show, complain, refused }) {
  while (!signal.aborted) {
    try {
      if ((await follow(activityId, signal, show)) === 'refused') return refused();
    } catch (error) {
      if (!signal.aborted) complain((words) => words.brokeOff(error.message), 'live');
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}
