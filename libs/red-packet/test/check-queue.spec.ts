import { CheckQueue } from '../src/payouts/check-queue';

describe('the queue of checks', () => {
  it('checks 16 activities at a time, each once, and again if it was asked to while a check was running', async () => {
    const running = new Map<string, () => void>();
    const begun: string[] = [];
    const queue = new CheckQueue((activityId) => {
      begun.push(activityId);
      return new Promise((resolve) => running.set(activityId, resolve));
    });
    const end = async (activityId: string): Promise<void> => {
      const resolve = running.get(activityId);
      running.delete(activityId);
      resolve?.();
      await new Promise(setImmediate);
    };
    const ids = Array.from({ length: 20 }, (_, i) => `a${i}`);
    for (const id of [...ids, ...ids.slice(10)]) queue.add(id);
    expect(begun).toEqual(ids.slice(0, 16));
    expect([queue.isRunning('a0'), queue.isRunning('a19'), queue.isEmpty]).toEqual([true, false, false]);
    await end('a0');
    await end('a12');
    expect(begun.slice(16)).toEqual(['a16', 'a17']);
    while (running.size > 0) await end([...running.keys()][0] as string);
    expect(queue.isEmpty).toBe(true);
    // a10 to a15 were running at the second request, a16 to a19 were still waiting.
    expect(begun.slice(16).sort()).toEqual(['a10', 'a11', 'a12', 'a13', 'a14', 'a15', 'a16', 'a17', 'a18', 'a19']);
  });

  it('drops what waits when it is stopped, and waits for what is running', async () => {
    const begun: string[] = [];
    let end: () => void = () => undefined;
    const queue = new CheckQueue((activityId) => {
      begun.push(activityId);
      return new Promise((resolve) => (end = resolve));
    });
    queue.add('a');
    queue.add('a');
    let stopped = false;
    const stopping = queue.stop().then(() => (stopped = true));
    await new Promise(setImmediate);
    expect(stopped).toBe(false);
    end();
    await stopping;
    expect(begun).toEqual(['a']);
  });
});
