import { turn } from '../../../test/support/manual-time';
import { CommandFailure } from '../src/connection/port';
import { codeOf, FakeDedicated, runnerOf } from './runner-support';

const wait = { replicas: 2, timeoutMs: 50 };

/** A runner, and the separate connection that it gets. */
function waitingRunner({ listed = false } = {}) {
  const made = runnerOf({ listed });
  const own = new FakeDedicated();
  const connect = async (): Promise<void> => {
    made.connection.dedicatedTo.at(-1)?.connection.resolve(own);
    await turn();
  };
  return { ...made, own, connect };
}

describe('a call that waits for replicas', () => {
  it('goes over a connection of its own, with WAIT behind it', async () => {
    const { a, connection, own, connect, call, sha } = waitingRunner();
    const one = call('x', { wait });
    expect(connection.dedicatedTo.map(({ node }) => node.id)).toEqual(['a']);
    await connect();
    expect(own.sent.map(({ commands }) => commands)).toEqual([
      [
        ['EVALSHA', [sha, '1', 'k', 'x']],
        ['WAIT', ['2', '50']],
      ],
    ]);
    own.sent[0]?.replies.resolve([7, 1]);
    await turn();
    expect([one.settled, a.sent]).toEqual([[{ result: 7, replicas: 1 }], []]);
  });

  it('counts no replica if WAIT failed', async () => {
    const { own, connect, call } = waitingRunner();
    const one = call('x', { wait });
    await connect();
    own.sent[0]?.replies.resolve([7, new CommandFailure('lost', 'closed')]);
    await turn();
    expect(one.settled).toEqual([{ result: 7, replicas: 0 }]);
  });

  it('fails if its script fails, whatever WAIT replies', async () => {
    const { own, connect, call } = waitingRunner();
    const one = call('x', { wait });
    await connect();
    own.sent[0]?.replies.resolve([new CommandFailure('reply', 'OOM too much'), 2]);
    await turn();
    expect(codeOf(one)).toBe('SCRIPT_REFUSED');
  });

  it('is sent again once the node has the script', async () => {
    const { a, own, connect, call } = waitingRunner();
    const one = call('x', { wait });
    await connect();
    own.sent[0]?.replies.resolve([new CommandFailure('reply', 'NOSCRIPT No matching script.'), 2]);
    await turn();
    a.loads[0]?.resolve();
    await turn();
    own.sent[1]?.replies.resolve([8, 2]);
    await turn();
    expect([own.sent.length, one.settled]).toEqual([2, [{ result: 8, replicas: 2 }]]);
  });

  it('did not run if there is no connection for it', async () => {
    const { connection, busy, call } = waitingRunner();
    const one = call('x', { wait });
    connection.dedicatedTo[0]?.connection.reject(new CommandFailure('not-sent', 'refused'));
    await turn();
    expect([codeOf(one), [...busy].map(({ idle }) => idle)]).toEqual(['NOT_SENT', [true]]);
  });

  it('is not sent if it was rejected while the connection was made', async () => {
    const { own, connect, busy, call } = waitingRunner({ listed: true });
    const one = call('x', { wait });
    one.call.reject(new Error('late'));
    await connect();
    expect([own.sent, [...busy].map(({ idle }) => idle)]).toEqual([[], [true]]);
  });

  it('leaves without the calls of its group that were rejected while the connection was made', async () => {
    const { own, connect, call } = waitingRunner();
    call('x', { wait });
    const [y, z] = [call('y', { wait }), call('z', { wait })];
    await connect();
    own.sent[0]?.replies.resolve([1, 0]);
    await turn();
    y.call.reject(new Error('late'));
    await connect();
    expect(own.sent[1]?.commands[0]?.[1].slice(1)).toEqual(['1', 'k', 'z']);
    own.sent[1]?.replies.resolve([3, 2]);
    await turn();
    expect(z.settled).toEqual([{ result: 3, replicas: 2 }]);
  });

  it('shares a group only with calls that wait for as many replicas, and as long', async () => {
    const { connection, busy, call } = waitingRunner();
    call('x', { wait });
    call('x', { wait: { ...wait, replicas: 1 } });
    call('x', { wait: { ...wait, timeoutMs: 60 } });
    call('x');
    expect([connection.dedicatedTo.length, busy.size]).toEqual([3, 4]);
    call('x', { wait });
    await turn();
    // WAIT blocks its connection, so the next group waits.
    expect([connection.dedicatedTo.length, busy.size]).toEqual([3, 4]);
  });

  it('does not change the size of groups, because its time includes WAIT', async () => {
    const { own, connect, runner, call } = waitingRunner();
    const noted: number[] = [];
    runner.pace.answered = (calls) => void noted.push(calls);
    runner.pace.measures = (calls) => noted.push(calls) > 0;
    call('x', { wait });
    await connect();
    own.sent[0]?.replies.resolve([7, 1]);
    await turn();
    expect(noted).toEqual([]);
  });
});
