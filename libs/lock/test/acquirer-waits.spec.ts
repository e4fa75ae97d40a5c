import { BUSY, openAcquirer, TAKEN } from './acquirer-support';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { stateOf } from '../../../test/support/replies';

const time = new ManualTime();

/** Opens an Acquirer of which one caller waits for the lock `a`. */
async function openWaiting(waitMs = 60_000) {
  const opened = openAcquirer();
  const waiting = opened.acquire('a', { waitMs });
  await opened.answer(BUSY);
  return { ...opened, waiting };
}

describe('an acquisition that waits', () => {
  it('listens to releases, and tries with a ticket until it has the lock', async () => {
    const { registry, acquirer, answer, waiting } = await openWaiting();
    const key = acquirer.keyOf('a');
    expect(registry.channels.map((one) => one.key)).toEqual([key]);
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.wait']);
    const [first, second] = registry.calls;
    expect(second).toMatchObject({
      keys: { lock: key, queue: key.replace(/lock$/, 'queue') },
      args: { leaseMs: 3_000, ttlMs: 8_000, countsMs: 21_000, turnMs: 250 },
      options: { deadlineMs: 60_000 },
    });
    await answer(BUSY);
    registry.channels[0]?.message();
    await turn();
    const { ticket } = second?.args ?? {};
    expect(registry.last).toMatchObject({ script: 'lock.wait', args: { ticket } });
    expect(new Set([...registry.calls.map(({ args }) => args.owner), ticket]).size).toBe(4);
    expect(first?.args).not.toHaveProperty('ticket');
    await answer(TAKEN);
    expect(await waiting).toMatchObject({ name: 'a', fence: 7, held: true });
  });

  it('fails at its end, and leaves the queue in the background', async () => {
    const { registry, acquirer, answer, fail, waiting } = await openWaiting(700);
    await answer({ ...BUSY, ahead: 2 });
    await time.pass(700);
    expect(await stateOf(waiting)).toBeUndefined();
    const { keys, args } = registry.calls[1] ?? {};
    expect(registry.last).toMatchObject({ script: 'lock.leave', keys, args: { ticket: args?.ticket } });
    expect(acquirer.idle).toBe(false);
    await fail(new Error('no reply'));
    expect(acquirer.idle).toBe(true);
  });

  it('joins callers of this process that wait for the same lock', async () => {
    const { registry, acquire, answer } = await openWaiting();
    const second = acquire('a', { waitMs: 60_000 });
    expect(await stateOf(acquire('a'))).toBeUndefined();
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.wait']);
    void acquire('b');
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.wait', 'lock.acquire']);
    registry.calls[1]?.reply.resolve(TAKEN);
    await turn();
    expect(registry.scripts.slice(3)).toEqual(['lock.wait']);
    await answer({ ...TAKEN, fence: 8 });
    expect(await second).toMatchObject({ fence: 8 });
  });

  it('leaves no queue: the next caller tries without a ticket', async () => {
    const { registry, acquire, answer, waiting } = await openWaiting();
    await answer(TAKEN);
    await waiting;
    void acquire('a', { waitMs: 60_000 });
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.wait', 'lock.acquire']);
  });

  it('tries again soon after a reply that took longer than the lease', async () => {
    const { registry, answer } = await openWaiting();
    time.now += 3_000;
    await answer(TAKEN);
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.wait', 'lock.release']);
    expect(time.running).toContain(2);
    await time.pass(2);
    expect(registry.last.script).toBe('lock.wait');
  });
});
