import type { LiveView } from '../../../src/monitoring/live/live.service';

/** The first view that a process sends of a rain and that has what is asked for. @throws {Error} after `patienceMs` */
export async function viewOf(
  url: string,
  admin: string,
  activityId: string,
  wanted: (view: LiveView) => boolean,
  patienceMs = 30_000,
): Promise<LiveView> {
  const headers = { authorization: `Bearer ${admin}` };
  let last: LiveView | undefined;
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const response = await fetch(`${url}/rains/${activityId}/live`, { headers, signal });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines.filter((each) => each.startsWith('data: '))) {
        last = JSON.parse(line.slice('data: '.length)) as LiveView;
        if (wanted(last)) return last;
      }
    }
  } catch (cause) {
    throw new Error(`The view never had it; the last one was ${JSON.stringify(last)}`, { cause });
  }
  throw new Error('The live view ended.');
}
