import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending } from '../../../test/support/replies';
import { openRunner } from './handler-runner-support';

const time = new ManualTime();
afterEach(() => {
  jest.restoreAllMocks();
});
const endless = (): Promise<void> => new Promise(() => undefined);

describe('messages of one key', () => {
  it('wait until the handler of the one before has ended, also if it was given up', async () => {
    const work = pending<void>();
    const { attempts, start, outcomes } = openRunner(() => work.promise);
    start({ id: '1-0', key: 'k' }, true);
    await time.pass(700);
    expect(outcomes).toHaveLength(1);
    outcomes.splice(0);
    start({ id: '2-0', key: 'k' }, true);
    expect(outcomes).toEqual([['retry', '0:2-0', 1_000, false, 'handed back']]);
    start({ id: '3-0', key: 'other' }, true);
    start({ id: '4-0' }, true);
    expect([outcomes.length, attempts.running]).toEqual([1, 3]);
    work.resolve();
    await turn();
    expect(attempts.running).toBe(0);
    start({ id: '2-0', key: 'k' }, true);
    expect(attempts.running).toBe(1);
  });

  it('do not wait for a handler that has ended, nor in a group that is not ordered', () => {
    const quick = openRunner(() => undefined);
    for (const id of ['1-0', '2-0']) quick.start({ id, key: 'k' }, true);
    expect(quick.outcomes).toEqual([
      ['commit', '0:1-0'],
      ['commit', '0:2-0'],
    ]);
    const { attempts, start } = openRunner(endless);
    for (const id of ['1-0', '2-0']) start({ id, key: 'k' });
    expect(attempts.running).toBe(2);
  });
});

describe('a handler that takes too long', () => {
  it('is given up after timeoutMs and abortGraceMs, keeps its slot, and what it returns later is ignored', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const work = pending<void>();
    const { attempts, start, outcomes, lines } = openRunner(() => work.promise);
    const message = start();
    await time.pass(300);
    start({ id: '2-0' });
    await time.pass(200);
    const text = 'The handler of message 0:1-0 did not end within 500 ms (timeoutMs).';
    expect(message.signal.reason).toMatchObject({ code: 'TIMEOUT', message: text });
    await time.pass(199);
    expect(outcomes).toEqual([]);
    await time.pass(1);
    expect(outcomes).toEqual([['retry', '0:1-0', 50, true, `TimeoutError: ${text}`]]);
    expect([attempts.running, attempts.all.length]).toEqual([2, 1]);
    expect(lines).toContain(
      `warn Stream orders, group mail: message 0:1-0 failed at attempt 1 of 3: TimeoutError: ${text} The next attempt is due in 50 ms.`,
    );
    work.resolve();
    await turn();
    expect(outcomes.slice(1)).toEqual([['commit', '0:2-0']]);
    expect(attempts.running).toBe(0);
  });
});

describe('when the consumer stops', () => {
  it('the signals of running handlers fire after drainMs, and their outcomes still count', async () => {
    const work = pending<void>();
    const { start, stop, outcomes } = openRunner(() => work.promise, { timeoutMs: 60_000 });
    const message = start();
    const stopped = stop();
    await time.pass(1_000);
    expect(message.signal.reason).toMatchObject({ code: 'CLOSED' });
    work.resolve();
    await turn();
    await stopped;
    expect(outcomes).toEqual([['commit', '0:1-0']]);
  });

  it('messages whose handlers still run are handed back, without counting', async () => {
    const work = pending<void>();
    const { attempts, start, stop, outcomes, session } = openRunner(() => work.promise, { timeoutMs: 60_000 });
    const message = start();
    start({ id: '2-0' }).giveUp('it was taken');
    const stopped = stop();
    await time.pass(1_200);
    await stopped;
    expect(outcomes).toEqual([['retry', '0:1-0', 0, false, 'handed back']]);
    expect([message.decided, attempts.running, [...session.messages.keys()]]).toEqual([true, 2, ['2-0']]);
    work.resolve();
    await turn();
    expect([outcomes.length, attempts.running]).toEqual([1, 0]);
  });
});
