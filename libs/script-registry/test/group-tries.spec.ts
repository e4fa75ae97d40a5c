import { SCRIPT_REGISTRY_CHANNELS } from 'luanest/script-registry';
import { turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { CommandFailure } from '../src/connection/port';
import { codeOf, FakeNode, runnerOf } from './runner-support';

const replied = (message: string, mayHaveRun = false): CommandFailure =>
  new CommandFailure('reply', message, mayHaveRun);
const noScript = (mayHaveRun = false): CommandFailure => replied('NOSCRIPT No matching script.', mayHaveRun);
const published = new Published(SCRIPT_REGISTRY_CHANNELS);
const healed = (): unknown[] =>
  published.take().flatMap((one) => ((one as [string])[0] === 'scriptsHealed' ? [(one as [string, unknown])[1]] : []));

/** Lets the load that was asked for last end. */
async function loaded(node: FakeNode, problem?: Error): Promise<void> {
  node.problem = problem;
  node.loads.at(-1)?.resolve();
  await turn();
}

describe('a command that fails', () => {
  it('rejects its calls, and sends nothing again', async () => {
    const { a, call, group } = runnerOf();
    const calls = await group('x', 'y');
    a.last.failed(replied('OOM too much'));
    await turn();
    expect([calls.map(codeOf), a.loads, a.sent.length]).toEqual([['SCRIPT_REFUSED', 'SCRIPT_REFUSED'], [], 2]);
    const later = call('z');
    await turn();
    a.last.done(1);
    expect(later.settled).toEqual([1]);
  });

  it.each([
    ['was not sent', 'not-sent', 'NOT_SENT'],
    ['was lost', 'lost', 'UNKNOWN_OUTCOME'],
  ] as const)('because it %s names the outcome to its callers', async (_, kind, code) => {
    const { a, call } = runnerOf();
    const one = call('x');
    a.last.failed(new CommandFailure(kind, 'closed'));
    await turn();
    expect([codeOf(one), one.call.mayHaveRun]).toEqual([code, kind === 'lost']);
  });

  it('in the client itself has an unknown outcome', async () => {
    const { a, busy, call } = runnerOf();
    a.run = () => {
      throw new Error('broken');
    };
    const one = call('x');
    await turn();
    expect([codeOf(one), String(one.settled[0])]).toEqual(['UNKNOWN_OUTCOME', expect.stringContaining('broken')]);
    expect([...busy].map(({ idle }) => idle)).toEqual([true]);
  });

  it('while its reply is read rejects its calls, and ends the group', () => {
    const { a, busy, call, compiled } = runnerOf();
    compiled.settle = () => {
      throw new Error('unreadable');
    };
    const one = call('x');
    a.last.done(1);
    expect([codeOf(one), String(one.settled[0])]).toEqual(['UNKNOWN_OUTCOME', expect.stringContaining('unreadable')]);
    expect([...busy].map(({ idle }) => idle)).toEqual([true]);
  });
});

describe('a node that lacks a script', () => {
  it('gets it, and then the command again', async () => {
    const { a, call, sha } = runnerOf();
    const one = call('x');
    a.last.failed(noScript());
    expect([a.loads.length, a.sent.length, one.call.mayHaveRun, one.settled]).toEqual([1, 1, false, []]);
    await loaded(a);
    expect(a.sent).toHaveLength(2);
    expect(a.last).toMatchObject({ name: 'EVALSHA', args: [sha, '1', 'k', 'x'] });
    expect(one.call.mayHaveRun).toBe(true);
    expect(healed()).toEqual([{ registry: 'main', node: 'a', script: 'test.any' }]);
    a.last.done(2);
    expect(one.settled).toEqual([2]);
  });

  it('that refuses it gets the command again, but does not count as healed', async () => {
    const { a, call } = runnerOf();
    call('x');
    a.last.failed(noScript());
    await loaded(a, new Error('NOPERM'));
    expect([a.sent.length, healed()]).toEqual([2, []]);
  });

  it('gets the whole script with the third try, which is the last', async () => {
    const { a, busy, call, body } = runnerOf();
    const one = call('x');
    for (let i = 0; i < 2; i++) {
      a.last.failed(noScript());
      await loaded(a);
    }
    expect(a.sent.map(({ name }) => name)).toEqual(['EVALSHA', 'EVALSHA', 'EVAL']);
    expect(a.last.args).toEqual([body, '1', 'k', 'x']);
    a.last.failed(noScript());
    await turn();
    expect([codeOf(one), a.loads.length, a.sent.length]).toEqual(['SCRIPT_REFUSED', 2, 3]);
    expect([...busy].map(({ idle }) => idle)).toEqual([true]);
  });

  it('does not get the calls again that were rejected meanwhile', async () => {
    const { a, group } = runnerOf();
    const [x, y] = await group('x', 'y');
    a.last.failed(noScript());
    x?.call.reject(new Error('late'));
    await loaded(a);
    expect([a.sent.length, a.last.args.slice(1)]).toEqual([3, ['1', 'k', 'y']]);
    a.last.done(1);
    expect([x?.settled, y?.settled]).toEqual([[new Error('late')], [1]]);
  });

  it('gets nothing again if all calls were rejected meanwhile', async () => {
    const { a, busy, call } = runnerOf({ listed: true });
    const { call: one } = call('x');
    a.last.failed(noScript());
    one.reject(new Error('late'));
    expect([...busy].map(({ idle }) => idle)).toEqual([false]);
    await loaded(a);
    expect([a.sent.length, [...busy].map(({ idle }) => idle)]).toEqual([1, [true]]);
  });

  it('leaves a call with an unknown outcome if an earlier sending may have run', async () => {
    const { a, call } = runnerOf();
    const one = call('x');
    a.last.failed(noScript(true));
    expect(one.call.mayHaveRun).toBe(true);
    await loaded(a);
    a.last.failed(replied('OOM too much'));
    await turn();
    expect(codeOf(one)).toBe('UNKNOWN_OUTCOME');
  });

  it('rejects the calls if the load fails in an unexpected way', async () => {
    const { a, call } = runnerOf();
    const one = call('x');
    a.last.failed(noScript());
    a.loads[0]?.reject(new Error('broken'));
    await turn();
    expect([codeOf(one), String(one.settled[0])]).toEqual(['UNKNOWN_OUTCOME', expect.stringContaining('broken')]);
  });
});

describe('a node of a Cluster that may not run a group', () => {
  it('leaves each call to the routing of the client, which may have to read the topology again', async () => {
    const { connection, a, busy, group, sha } = runnerOf({ clustered: true });
    const [x, y] = await group('x', 'y');
    a.last.failed(replied('MOVED 1 b:6379'));
    await turn();
    expect(connection.refreshes).toBe(1);
    expect(connection.routed.map(({ name, args }) => [name, ...args])).toEqual([
      ['EVALSHA', sha, '1', 'k', 'x'],
      ['EVALSHA', sha, '1', 'k', 'y'],
    ]);
    connection.routed[1]?.reply.resolve(2);
    await turn();
    expect([x?.settled, y?.settled, [...busy].map(({ idle }) => idle)]).toEqual([[], [2], [false]]);
    connection.routed[0]?.reply.resolve(1);
    await turn();
    expect([x?.settled, [...busy].map(({ idle }) => idle)]).toEqual([[1], [true]]);
  });

  it('does not need a new topology for another reason', async () => {
    const { connection, a, call } = runnerOf({ clustered: true });
    call('x');
    a.last.failed(replied('ASK 1 b:6379'));
    await turn();
    expect([connection.refreshes, connection.routed.length]).toEqual([0, 1]);
  });

  it('gets no call that was rejected meanwhile', async () => {
    const { connection, a, group } = runnerOf({ clustered: true });
    const [x] = await group('x', 'y');
    x?.call.reject(new Error('late'));
    a.last.failed(replied('TRYAGAIN'));
    await turn();
    expect(connection.routed.map(({ args }) => args.at(-1))).toEqual(['y']);
  });

  it('and a client that cannot route a call reject it', async () => {
    const { connection, a, call } = runnerOf({ clustered: true });
    const one = call('x');
    a.last.failed(replied('MOVED 1 b:6379'));
    connection.routed[0]?.reply.reject(replied('MOVED 1 a:6379'));
    await turn();
    expect([codeOf(one), connection.routed.length, connection.refreshes]).toEqual(['SCRIPT_REFUSED', 1, 1]);
  });

  it.each([
    ['each node that is ready has it', undefined, ['routed by the client']],
    ['a node refused it', new Error('NOPERM'), []],
  ])('has the script loaded on all nodes that are ready, if the other node lacks it: %s', async (_, problem, nodes) => {
    const { connection, a, call } = runnerOf({ clustered: true });
    const [b, gone] = [new FakeNode('b'), new FakeNode('gone')];
    connection.all = [a, b, gone];
    Object.assign(gone, { ready: false, problem: new Error('gone') });
    const one = call('x');
    a.last.failed(replied('MOVED 1 b:6379'));
    connection.routed[0]?.reply.reject(noScript());
    await turn();
    expect([a, b, gone].map(({ loads }) => loads.length)).toEqual([1, 1, 0]);
    await loaded(a);
    expect(connection.routed).toHaveLength(1);
    await loaded(b, problem);
    expect(connection.routed).toHaveLength(2);
    expect(healed()).toEqual(nodes.map((node) => ({ registry: 'main', node, script: 'test.any' })));
    connection.routed[1]?.reply.resolve(7);
    await turn();
    expect(one.settled).toEqual([7]);
  });

  it('does not get the time of calls that the client routed', async () => {
    const { connection, runner, a, call } = runnerOf({ clustered: true });
    const noted: number[] = [];
    runner.pace.answered = (calls) => void noted.push(calls);
    const asked: number[] = [];
    runner.pace.measures = (calls) => asked.push(calls) > 1;
    call('x');
    a.last.failed(replied('MOVED 1 b:6379'));
    connection.routed[0]?.reply.resolve(7);
    await turn();
    expect([asked, noted]).toEqual([[1], []]);
  });
});
