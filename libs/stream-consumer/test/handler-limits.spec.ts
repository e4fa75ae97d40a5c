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
    const { runner, start, outcomes, session } = openRunner(() => work.promise);
    start({ id: '1-0', key: 'k' }, true);
    time.now += 500;
    runner.expire(time.now);
    outcomes.splice(0);
    start({ id: '2-0', key: 'k' }, true);
    expect(outcomes).toEqual([['retry', '0:2-0', 1_000, false, `handed back ${session.name} 0`]]);
    start({ id: '3-0', key: 'other' }, true);
    start({ id: '4-0' }, true);
    expect([outcomes.length, runner.size]).toEqual([1, 2]);
    work.resolve();
    await turn();
    start({ id: '2-0', key: 'k' }, true);
    expect(runner.size).toBe(1);
  });

  it('do not wait for a handler that returns nothing to wait for, nor in a group that is not ordered', () => {
    const quick = openRunner(() => undefined);
    for (const id of ['1-0', '2-0']) quick.start({ id, key: 'k' }, true);
    expect(quick.outcomes).toEqual([
      ['commit', '0:1-0'],
      ['commit', '0:2-0'],
    ]);
    const { runner, start } = openRunner(endless);
    for (const id of ['1-0', '2-0']) start({ id, key: 'k' });
    expect(runner.size).toBe(2);
  });
});

describe('a handler that takes too long', () => {
  it('is given up after timeoutMs, and what it returns later is ignored', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const work = pending<void>();
    const { runner, start, outcomes, lines, counts } = openRunner(() => work.promise);
    const message = start();
    time.now += 300;
    start({ id: '2-0' });
    time.now += 199;
    runner.expire(time.now);
    expect([outcomes, runner.size]).toEqual([[], 2]);
    time.now += 1;
    runner.expire(time.now);
    const text = 'The handler of message 0:1-0 ran for longer than timeoutMs (500 ms).';
    expect(outcomes).toEqual([['retry', '0:1-0', 100, true, `TimeoutError: ${text}`]]);
    expect(message.signal.reason).toMatchObject({ code: 'TIMEOUT', message: text });
    expect([runner.size, counts.ended]).toEqual([1, 1]);
    expect(lines).toEqual([
      `warn orders/mail: message 0:1-0 failed at attempt 1: TimeoutError: ${text} The next attempt is due in 100 ms.`,
    ]);
    work.resolve();
    await turn();
    expect(outcomes.slice(1)).toEqual([['commit', '0:2-0']]);
  });
});

describe('when the consumer stops', () => {
  it('the signals of running handlers fire, and their outcomes still count', async () => {
    const work = pending<void>();
    const { runner, start, outcomes } = openRunner(() => work.promise);
    const message = start();
    runner.abort();
    expect(message.signal.reason).toMatchObject({ code: 'LOST' });
    expect((message.signal.reason as Error).message).toMatch(/^The consumer stops, so message 0:1-0 is handed back/);
    work.resolve();
    await turn();
    expect(outcomes).toEqual([['commit', '0:1-0']]);
  });

  it('messages whose handlers still run are handed back, without counting', async () => {
    const work = pending<void>();
    const { runner, start, outcomes, session, counts } = openRunner(() => work.promise);
    const message = start();
    start({ id: '2-0' }).lose('it was taken');
    runner.handBack();
    expect(outcomes).toEqual([['retry', '0:1-0', 0, false, `handed back ${session.name} 0`]]);
    expect([message.decided, counts.ended, [...session.held.keys()]]).toEqual([true, 1, ['2-0']]);
    work.resolve();
    await turn();
    expect([outcomes.length, runner.size]).toEqual([1, 0]);
  });
});
