import { CheckQueue } from '../src/payouts/check-queue';

/** A queue whose checks end when the test says so. */
function openQueue() {
  const running = new Map<string, (succeeded: boolean) => void>();
  const begun: string[] = [];
  const queue = new CheckQueue((activityId) => {
    begun.push(activityId);
    return new Promise((resolve) => running.set(activityId, resolve));
  });
  const end = async (activityId: string, succeeded = true): Promise<void> => {
    const resolve = running.get(activityId);
    running.delete(activityId);
    resolve?.(succeeded);
    await new Promise(setImmediate);
  };
  return { queue, begun, running, end };
}

function named(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${name}${i}`);
}

describe('the queue of checks', () => {
  it('checks 16 activities at a time, each once, and again if it was asked to while a check was running', async () => {
    const { queue, begun, running, end } = openQueue();
    const ids = named('a', 20);
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

  it('checks activities that were just found at once, while others are repeated, or failed and take long', async () => {
    const { queue, begun, running, end } = openQueue();
    const [read, failing] = [named('read', 20), named('failing', 12)];
    for (const id of failing) queue.add(id);
    for (const id of failing) await end(id, false);
    begun.length = 0;
    // Of an unavailable master: some are being read, and users go on to grab in others.
    queue.repeat(read);
    for (const id of failing) queue.add(id);
    expect(begun).toEqual(failing);
    queue.add('found');
    expect(begun.slice(12)).toEqual(['found']);
    await end('found');
    // All others are checked in turn, and those that failed again at the next repeat.
    while (running.size > 0) await end([...running.keys()][0] as string, false);
    expect(new Set(begun)).toEqual(new Set([...failing, ...read, 'found']));
    expect(queue.isEmpty).toBe(false);
    queue.repeat([]);
    while (running.size > 0) await end([...running.keys()][0] as string);
    expect([queue.isEmpty, begun.filter((id) => id === 'read19').length]).toEqual([true, 2]);
    // One that has recovered is checked like any other.
    queue.repeat(read);
    queue.add('failing0');
    expect(running.has('failing0')).toBe(true);
  });

  it('does not let an activity that failed once wait for those of an unavailable master', async () => {
    const { queue, begun, end } = openQueue();
    const failing = named('failing', 40);
    for (const id of failing) queue.add(id);
    for (const id of failing) await end(id, false);
    begun.length = 0;
    queue.repeat([]);
    expect(begun).toEqual(failing.slice(0, 8));
    // Somebody won a packet in it.
    queue.add('failing30');
    expect(begun.slice(8)).toEqual(['failing30']);
    // Its master has replied.
    for (const id of ['failing31', 'failing32', 'failing33', 'failing34', 'failing35']) queue.add(id, true);
    expect(begun.slice(9)).toEqual(['failing31', 'failing32', 'failing33', 'failing34', 'failing35']);
    // Those of the unavailable master that are woken do not take the turn of one that was just found.
    for (const id of failing.slice(8, 30)) queue.add(id);
    queue.add('found');
    expect(begun.slice(14)).toEqual(['failing8', 'failing9']);
    await end('failing31');
    expect(begun.slice(16)).toEqual(['found']);
  });

  it('drops what waits when it is stopped, and waits for what is running', async () => {
    const { queue, begun, end } = openQueue();
    queue.add('a');
    queue.add('a');
    queue.repeat(['a']);
    let stopped = false;
    const stopping = queue.stop().then(() => (stopped = true));
    await new Promise(setImmediate);
    expect(stopped).toBe(false);
    await end('a');
    await stopping;
    expect(begun).toEqual(['a']);
  });
});
