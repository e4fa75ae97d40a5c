import { SCRIPT_REGISTRY_CHANNELS } from 'luanest/script-registry';
import { turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { CommandFailure } from '../src/connection/port';
import { codeOf, FakeNode, runnerOf } from './runner-support';

const noScript = (mayHaveRun = false): CommandFailure =>
  new CommandFailure('reply', 'NOSCRIPT No matching script.', mayHaveRun);
const outOfMemory = new CommandFailure('reply', 'OOM too much');

describe('a runner of a script', () => {
  it('sends a lone call at once, and gives its caller the reply', () => {
    const { a, call, sha } = runnerOf();
    const one = call('x');
    expect(a.sent).toMatchObject([{ name: 'EVALSHA', args: [sha, '1', 'k', 'x'] }]);
    expect([one.call.mayHaveRun, one.settled]).toEqual([true, []]);
    a.last.done(Buffer.from('reply'));
    expect(one.settled).toEqual(['reply']);
  });

  it('sends calls of one turn together', async () => {
    const { a, call, compiled } = runnerOf();
    call('x');
    call('y');
    call('z');
    await turn();
    expect(a.sent).toHaveLength(2);
    expect(a.last.args).toEqual([compiled.formFor(2).sha, '1', 'k', '2', 'y', 'z']);
  });

  it('puts no more characters into a group than the script allows', async () => {
    const { a, call } = runnerOf({ maxChars: 10 });
    for (const text of ['first', 'yyyyyy', 'zzzzzz']) call(text);
    await turn();
    expect(a.sent.map(({ args }) => args.at(-1))).toEqual(['first', 'yyyyyy', 'zzzzzz']);
  });

  it('sends calls of different slots of a Cluster to their own nodes, apart', () => {
    const { connection, a, call } = runnerOf({ clustered: true });
    const b = new FakeNode('b');
    const asked: number[] = [];
    connection.nodeFor = (slot) => {
      asked.push(slot);
      return slot === 15495 ? a : b;
    };
    call('x', { key: 'a' });
    call('y', { key: 'b' });
    expect([asked, a.sent.length, b.sent.length]).toEqual([[15495, 3300], 1, 1]);
  });

  it('asks a single Redis for no slot', async () => {
    const { connection, a, call } = runnerOf();
    const asked: number[] = [];
    connection.nodeFor = (slot) => {
      asked.push(slot);
      return a;
    };
    for (const key of ['a', 'b', 'c']) call('x', { key });
    await turn();
    expect([asked, a.sent.length]).toEqual([[0, 0], 2]);
  });

  it.each([
    ['there is no node', { present: false, ready: true, settled: true }],
    ['the node is not ready', { present: true, ready: false, settled: true }],
    ['the first load of scripts has not ended', { present: true, ready: true, settled: false }],
  ])('keeps calls while %s, and says so', async (_, { present, ready, settled }) => {
    const { connection, a, busy, state, call } = runnerOf();
    Object.assign(a, { ready, settled });
    connection.nodeFor = () => (present ? a : undefined);
    const one = call('x');
    expect([a.sent, one.call.mayHaveRun, state.held > 0]).toEqual([[], false, true]);
    await turn();
    Object.assign(a, { ready: true, settled: true });
    connection.nodeFor = () => a;
    const { held } = state;
    for (const lane of busy) lane.pump();
    expect([a.sent.length, state.held]).toEqual([1, held]);
  });

  it('forgets a queue that is released, and makes a new one for the next call', () => {
    const { a, busy, call } = runnerOf();
    call('x');
    a.last.done(1);
    const [lane] = busy;
    lane?.release();
    expect(busy.size).toBe(0);
    call('y');
    expect([busy.size, busy.has(lane as never), a.sent.length]).toEqual([1, false, 2]);
  });

  it('follows a node that took the place of another', () => {
    const { connection, a, call } = runnerOf();
    call('x');
    a.last.done(1);
    const b = new FakeNode('b');
    connection.nodeFor = () => b;
    call('y');
    expect([a.sent.length, b.sent.length]).toEqual([1, 1]);
  });

  it('has no more calls in flight than it may', async () => {
    const { a, call } = runnerOf({ maxCallsInFlight: 1 });
    call('x');
    call('y');
    await turn();
    expect(a.sent).toHaveLength(1);
    a.last.done(1);
    await turn();
    expect(a.sent).toHaveLength(2);
  });
});

describe('the time of groups', () => {
  /** Notes what the pace gets. */
  function observed() {
    const made = runnerOf();
    const noted: unknown[] = [];
    made.runner.pace.answered = (calls, sentAt, now) =>
      void noted.push([calls, sentAt > 0 && sentAt <= now && now <= performance.now()]);
    made.runner.pace.measured = (calls, ms) => void noted.push(['measured', calls, ms]);
    return { ...made, noted };
  }

  it('comes with each reply', async () => {
    const { a, group, noted } = observed();
    await group('x', 'y');
    a.last.done([]);
    expect(noted).toEqual([
      [1, true],
      [2, true],
    ]);
  });

  it('comes with the reply to a second try too, while other groups are sent', async () => {
    const { a, call, noted } = observed();
    call('x');
    a.last.failed(noScript());
    call('y');
    await turn();
    a.loads[0]?.resolve();
    await turn();
    expect(a.sent).toHaveLength(3);
    a.last.done(1);
    expect(noted).toEqual([[1, true]]);
  });

  it('is measured in Redis when the pace asks for it', async () => {
    const { a, call, runner, noted } = observed();
    const asked: unknown[] = [];
    runner.pace.measures = (calls, now) => {
      asked.push([calls, now > 0 && now <= performance.now()]);
      return asked.length === 2;
    };
    const one = call('x');
    expect(a.last.took).toBeUndefined();
    a.last.done(1);
    const two = call('y');
    a.last.took?.(7);
    a.last.done(2);
    await turn();
    expect([asked, one.settled, two.settled]).toEqual([
      [
        [1, true],
        [1, true],
      ],
      [1],
      [2],
    ]);
    expect(noted).toEqual([
      [1, true],
      ['measured', 1, 7],
      [1, true],
    ]);
  });

  it('a measured command that fails rejects its calls', async () => {
    const { a, call, runner } = observed();
    runner.pace.measures = () => true;
    const one = call('x');
    a.last.failed(outOfMemory);
    await turn();
    expect(codeOf(one)).toBe('SCRIPT_REFUSED');
  });
});

describe('events of a runner', () => {
  const published = new Published(SCRIPT_REGISTRY_CHANNELS);
  const any = { registry: 'main', script: 'test.any' };

  it('say that a group was sent, and how many are in flight', async () => {
    const { group } = runnerOf();
    await group('x', 'y');
    expect(published.take().slice(0, 2)).toEqual([
      ['groupSent', { ...any, node: 'a', calls: 1, inFlight: 1 }],
      ['groupSent', { ...any, node: 'a', calls: 2, inFlight: 2 }],
    ]);
  });

  it('say that a group ended, and how long it took', async () => {
    const { a, call, busy } = runnerOf();
    call('x');
    published.take();
    const before = performance.now();
    call('y');
    await turn();
    published.take();
    a.last.done(1);
    const within = performance.now() - before;
    const [[event, { durationMs, ...rest }]] = published.take() as [[string, { durationMs: number }]];
    expect([event, rest]).toEqual(['groupEnded', { ...any, node: 'a', calls: 1 }]);
    expect([durationMs >= 0, durationMs <= within]).toEqual([true, true]);
    expect([...busy].map(({ groupsInFlight }) => groupsInFlight)).toEqual([1]);
  });

  it('name the error of a call that failed', () => {
    const { a, call } = runnerOf();
    const one = call('x');
    published.take();
    a.last.failed(new CommandFailure('reply', 'ERR bad'));
    return turn().then(() => {
      const failed = published.take().filter((event) => (event as [string])[0] === 'callFailed');
      expect(failed).toEqual([['callFailed', { ...any, error: one.settled[0] }]]);
    });
  });
});
