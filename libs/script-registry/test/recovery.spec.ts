import { setImmediate as nextTurn } from 'node:timers/promises';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { turn } from '../../../test/support/manual-time';
import { pending } from '../../../test/support/replies';
import { Published } from '../../../test/support/published';
import { CommandFailure } from '../src/connection/port';
import { FakeNode, FEW, noScript, openFake, outcomeOf, refused } from './fake-redis';

const OOM = refused("OOM command not allowed when used memory > 'maxmemory'.");
const published = new Published(ScriptRegistryEvents);
const healed = (): unknown[] =>
  published.take().flatMap((one) => ((one as [string])[0] === 'scriptsHealed' ? [(one as [string, unknown])[1]] : []));

/** Opens a registry with a group in flight; returns its calls too. */
async function openGroup(texts: string, setup: Parameters<typeof openFake>[0] = {}, deadlineMs?: number) {
  const fake = await openFake(setup);
  fake.few();
  for (const command of fake.a.sent) command.replied('x');
  fake.a.sent.length = 0;
  // These leave first, alone; they have no reply yet.
  fake.few();
  const made = fake.calls(texts, { deadlineMs });
  await nextTurn();
  const command = fake.a.sent[FEW] as FakeNode['last'];
  for (const first of fake.a.sent.slice(0, FEW)) first.replied('x');
  fake.a.sent.length = 0;
  return { ...fake, made, command };
}

/** Makes the node's SCRIPT LOAD wait until the test opens it. */
function holdLoads(node: FakeNode): { open(): Promise<void> } {
  const gate = pending<void>();
  node.gate = gate.promise;
  return { open: () => (gate.resolve(), turn()) };
}

describe('a command that fails', () => {
  it.each([
    ['Redis refused it', OOM, 'SCRIPT_REFUSED'],
    ['it was not sent', new CommandFailure('not-sent', 'closed'), 'NOT_SENT'],
    ['its reply was lost', new CommandFailure('lost', 'closed'), 'UNKNOWN_OUTCOME'],
    ['it was refused, but an earlier sending may have run', refused(OOM.message, true), 'UNKNOWN_OUTCOME'],
    ['the script raised an error', refused(`OOM x script: ${'a'.repeat(40)}, on @user_script:2.`), 'SCRIPT_FAILED'],
    ['the script raised an error, as Valkey 9.1 says it', refused('OOM x script: on @user_script:2.'), 'SCRIPT_FAILED'],
    ['it got an error with the code of a refusal', refused('OOM x'), 'UNKNOWN_OUTCOME'],
    ['it got an error with another code', refused('MYCODE x'), 'SCRIPT_FAILED'],
    ['a script speaks of NOSCRIPT', refused('NOSCRIPT sounds like it'), 'UNKNOWN_OUTCOME'],
    ['a script speaks of MOVED', refused('MOVED on'), 'UNKNOWN_OUTCOME'],
    ['a script speaks of TRYAGAIN', refused('TRYAGAIN later'), 'UNKNOWN_OUTCOME'],
    ['a script speaks of NOPERM', refused('NOPERM not yours'), 'UNKNOWN_OUTCOME'],
  ])('rejects its calls and is not sent again: %s', async (_, failure, code) => {
    for (const clustered of [false, true]) {
      const alone = await openFake({ clustered });
      const one = alone.call('x');
      alone.a.last.failed(failure);
      const { a, made, command, connection, calls } = await openGroup('ab', { clustered });
      command.failed(failure);
      await turn();
      expect([one, ...made].map(outcomeOf)).toEqual([code, code, code]);
      expect([alone.a.sent.length, a.sent, connection.routed, alone.connection.routed]).toEqual([1, [], [], []]);
      // The next call is sent.
      calls('c');
      await nextTurn();
      expect(a.sent).toHaveLength(1);
    }
  });

  it('in the client itself has an unknown outcome', async () => {
    const { a, busy, call } = await openFake();
    const one = call('x');
    a.last.failed(noScript());
    a.run = () => {
      throw new Error('broken');
    };
    await turn();
    expect([outcomeOf(one), String(one.settled[0])]).toEqual(['UNKNOWN_OUTCOME', expect.stringContaining('broken')]);
    expect([...busy].every(({ idle }) => idle)).toBe(true);
  });
});

describe('a node that lacks a script', () => {
  it('gets it, and then the command again', async () => {
    const { a, call, lone } = await openFake();
    const loads = a.loads.length;
    const one = call('x');
    const load = holdLoads(a);
    a.last.failed(noScript());
    await turn();
    expect([a.sent.length, outcomeOf(one)]).toEqual([1, 'pending']);
    await load.open();
    expect([a.loads.length, a.sent.length]).toEqual([loads + 2, 2]);
    expect(a.last).toMatchObject({ name: 'EVALSHA', args: [lone.sha, '1', 'k', 'x'] });
    expect(healed()).toEqual([{ registry: 'main', node: 'a', script: 'test.any' }]);
    a.last.replied(2);
    await turn();
    expect(outcomeOf(one)).toBe(2);
  });

  it('gets a group again as a group', async () => {
    const { a, made, command, sent } = await openGroup('abc');
    command.failed(noScript());
    await turn();
    expect(sent()).toEqual(['abc']);
    a.last.replied([1, 2, 3]);
    await turn();
    expect(made.map(outcomeOf)).toEqual([1, 2, 3]);
  });

  it('that refuses it gets the command again, but does not count as healed', async () => {
    const { a, call } = await openFake();
    call('x');
    a.problem = new Error('NOPERM');
    a.last.failed(noScript());
    await turn();
    expect([a.sent.length, healed()]).toEqual([2, []]);
  });

  it('gets the whole script with the third try, which is the last', async () => {
    const { a, busy, call, lone } = await openFake();
    const one = call('x');
    for (let i = 0; i < 3; i++) {
      a.last.failed(noScript());
      await turn();
    }
    expect(a.sent.map(({ name, args: [head] }) => [name, head])).toEqual([
      ['EVALSHA', lone.sha],
      ['EVALSHA', lone.sha],
      ['EVAL', lone.body],
    ]);
    expect([outcomeOf(one), [...busy].every(({ idle }) => idle)]).toEqual(['SCRIPT_REFUSED', true]);
  });

  it('gets no call again that was rejected at its deadline meanwhile', async () => {
    const { a, call, calls, few, busy } = await openFake();
    few();
    const made = [call('a', { deadlineMs: 20 }), ...calls('b'), call('c', { deadlineMs: 20 })];
    const alone = { ...(a.sent[0] as FakeNode['last']) };
    await nextTurn();
    const [, , group] = a.sent;
    for (const command of a.sent.slice(1, FEW)) command.replied('x');
    const load = holdLoads(a);
    group?.failed(noScript());
    alone.replied('x');
    await Promise.all([made[0]?.done, made[2]?.done]);
    a.sent.length = 0;
    await load.open();
    expect([made.map(outcomeOf), a.sent.map(({ args }) => args.at(-1))]).toEqual([
      ['NOT_SENT', 'pending', 'NOT_SENT'],
      ['b'],
    ]);
    a.last.replied(7);
    await turn();
    expect([outcomeOf(made[1] as never), [...busy].every(({ idle }) => idle)]).toEqual([7, true]);
  });

  it('gets nothing if all calls were rejected meanwhile', async () => {
    const { a, busy, call } = await openFake();
    const one = call('x', { deadlineMs: 20 });
    const load = holdLoads(a);
    a.last.failed(noScript());
    await one.done;
    await load.open();
    expect([a.sent.length, outcomeOf(one), [...busy].every(({ idle }) => idle)]).toEqual([1, 'NOT_SENT', true]);
  });

  it.each([
    ['Redis refuses it', OOM],
    ['it is not sent', new CommandFailure('not-sent', 'closed')],
    ['it is lost', new CommandFailure('lost', 'closed')],
    ['it gets NOSCRIPT each time', noScript()],
  ])('leaves a call with an unknown outcome if an earlier sending may have run, and then %s', async (_, failure) => {
    const { a, call } = await openFake();
    const one = call('x');
    a.last.failed(noScript(true));
    await turn();
    for (let i = 0; i < 3 && outcomeOf(one) === 'pending'; i++) {
      a.last.failed(failure);
      await turn();
    }
    expect([outcomeOf(one), a.sent.length]).toEqual(['UNKNOWN_OUTCOME', failure.noScript ? 3 : 2]);
  });
});

describe('a node of a Cluster that may not run a command', () => {
  const clustered = true;

  it.each([
    ['MOVED 1 b:6379', 1],
    ['ASK 1 b:6379', 0],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 0],
    ["CROSSSLOT Keys in request don't hash to the same slot", 0],
    ['CLUSTERDOWN Hash slot not served', 0],
    ['CLUSTERDOWN The cluster is down', 0],
  ])('leaves each call to the routing of the client: %s', async (message, refreshes) => {
    const { connection, a, made, command, lone, busy, call } = await openGroup('ab', { clustered });
    command.failed(refused(message));
    await turn();
    expect([connection.refreshes, a.sent]).toEqual([refreshes, []]);
    expect(connection.routed.map(({ name, args }) => [name, ...args])).toEqual([
      ['EVALSHA', lone.sha, '1', 'k', 'a'],
      ['EVALSHA', lone.sha, '1', 'k', 'b'],
    ]);
    connection.routed[1]?.reply.resolve(2);
    await turn();
    expect([made.map(outcomeOf), [...busy].every(({ idle }) => idle)]).toEqual([['pending', 2], false]);
    connection.routed[0]?.reply.resolve(1);
    await turn();
    expect([made.map(outcomeOf), [...busy].every(({ idle }) => idle)]).toEqual([[1, 2], true]);
    // So does a call that was sent alone.
    call('c');
    await nextTurn();
    a.last.failed(refused(message));
    await turn();
    expect(connection.routed).toHaveLength(3);
  });

  it.each([true, false])('sends the calls of a group alone after NOPERM, on a Cluster %s', async (isCluster) => {
    const { connection, a, made, command, call } = await openGroup('ab', { clustered: isCluster });
    const noPermission = refused('NOPERM No permissions to access a key');
    command.failed(noPermission);
    await turn();
    connection.routed[0]?.reply.resolve(1);
    connection.routed[1]?.reply.reject(noPermission);
    const one = call('c');
    await nextTurn();
    a.last.failed(noPermission);
    await turn();
    expect([...made, one].map(outcomeOf)).toEqual([1, 'SCRIPT_REFUSED', 'SCRIPT_REFUSED']);
    expect(connection.routed).toHaveLength(2);
  });

  it('gets no call that was rejected at its deadline meanwhile', async () => {
    const { connection, made, command } = await openGroup('ab', { clustered }, 20);
    await Promise.all(made.map(({ done }) => done));
    command.failed(refused('MOVED 1 b:6379'));
    await turn();
    expect([connection.routed, made.map(outcomeOf)]).toEqual([[], ['UNKNOWN_OUTCOME', 'UNKNOWN_OUTCOME']]);
  });

  it('and a client that cannot route a call reject it', async () => {
    const { connection, a, call } = await openFake({ clustered });
    const one = call('x');
    a.last.failed(refused('MOVED 1 b:6379'));
    await turn();
    connection.routed[0]?.reply.reject(refused('MOVED 1 a:6379'));
    await turn();
    expect([outcomeOf(one), connection.routed.length, connection.refreshes]).toEqual(['SCRIPT_REFUSED', 1, 1]);
  });

  it('that was asked after another one, and lacks the script, leaves the call to the client', async () => {
    for (const isCluster of [true, false]) {
      const { connection, a, call } = await openFake({ clustered: isCluster });
      call('x');
      a.last.failed(noScript(true));
      await turn();
      expect([connection.routed.length, a.sent.length]).toEqual(isCluster ? [1, 1] : [0, 2]);
    }
  });

  it.each([
    ['each node that is ready has it', undefined, ['routed by the client']],
    ['a node refused it', new Error('NOPERM'), []],
  ])('has the script loaded on all nodes that are ready, if the other node lacks it: %s', async (_, problem, nodes) => {
    const { connection, a, call } = await openFake({ clustered });
    const [b, gone] = [new FakeNode('b'), new FakeNode('gone')];
    connection.all = [a, b, gone];
    Object.assign(gone, { ready: false, problem: new Error('gone') });
    const loads = a.loads.length;
    const one = call('x');
    a.last.failed(refused('MOVED 1 b:6379'));
    await turn();
    const load = holdLoads(b);
    connection.routed[0]?.reply.reject(noScript());
    await turn();
    expect([a.loads.length - loads, connection.routed.length]).toEqual([2, 1]);
    b.problem = problem;
    await load.open();
    expect([connection.routed.length, gone.loads]).toEqual([2, []]);
    expect(healed()).toEqual(nodes.map((node) => ({ registry: 'main', node, script: 'test.any' })));
    connection.routed[1]?.reply.resolve(7);
    await turn();
    expect(outcomeOf(one)).toBe(7);
  });
});

describe('a call that waits for replicas', () => {
  const wait = { replicas: 2, timeoutMs: 50 };

  it('goes over a connection of its own, with WAIT behind it', async () => {
    const fake = await openFake();
    const one = fake.wait('x', wait);
    await turn();
    const { sent } = fake.connection.own;
    expect(sent.map(({ commands }) => commands)).toEqual([
      [
        ['EVALSHA', [fake.lone.sha, '1', 'k', 'x']],
        ['WAIT', ['2', '50']],
      ],
    ]);
    sent[0]?.replies.resolve([7, 1]);
    await turn();
    expect([one.settled, fake.a.sent]).toEqual([[{ result: 7, replicas: 1 }], []]);
  });

  it.each([
    ['counts no replica if WAIT failed', [7, new CommandFailure('lost', 'closed')], { result: 7, replicas: 0 }],
    ['fails if its script fails, whatever WAIT replies', [OOM, 2], 'SCRIPT_REFUSED'],
    ['is unknown if both were lost', [new CommandFailure('lost', 'x'), new CommandFailure('lost', 'x')], 'UNKNOWN_OUTCOME'], // prettier-ignore
  ])('%s', async (_, replies, outcome) => {
    const fake = await openFake();
    const one = fake.wait('x', wait);
    await turn();
    fake.connection.own.sent[0]?.replies.resolve(replies);
    await turn();
    expect(outcomeOf(one)).toEqual(outcome);
  });

  it('is sent again, with WAIT, once the node has the script', async () => {
    const fake = await openFake();
    const one = fake.wait('x', wait);
    await turn();
    const { sent } = fake.connection.own;
    sent[0]?.replies.resolve([noScript(), 2]);
    await turn();
    sent[1]?.replies.resolve([8, 2]);
    await turn();
    expect([sent.length, one.settled]).toEqual([2, [{ result: 8, replicas: 2 }]]);
  });

  it('is sent again without WAIT if it is redirected', async () => {
    const fake = await openFake({ clustered: true });
    const one = fake.wait('x', wait);
    await turn();
    fake.connection.own.sent[0]?.replies.resolve([refused('MOVED 1 b:6379'), 2]);
    await turn();
    fake.connection.routed[0]?.reply.resolve(8);
    await turn();
    expect(one.settled).toEqual([{ result: 8, replicas: 0 }]);
  });

  it('did not run if there is no connection for it', async () => {
    const fake = await openFake();
    fake.connection.connecting = Promise.reject(new CommandFailure('not-sent', 'refused'));
    const one = fake.wait('x', wait);
    await turn();
    expect([outcomeOf(one), [...fake.busy].every(({ idle }) => idle)]).toEqual(['NOT_SENT', true]);
  });

  it('is not sent if it was rejected at its deadline while the connection was made', async () => {
    const fake = await openFake();
    const gate = pending<void>();
    fake.connection.connecting = gate.promise;
    const late = fake.wait('x', { ...wait, deadlineMs: 60 });
    const made = fake.wait('y', wait);
    await late.done;
    gate.resolve();
    await turn();
    const { sent } = fake.connection.own;
    expect([outcomeOf(late), sent.map(({ commands }) => commands[0]?.[1].at(-1))]).toEqual(['NOT_SENT', ['y']]);
    sent[0]?.replies.resolve([3, 2]);
    await turn();
    expect(made.settled).toEqual([{ result: 3, replicas: 2 }]);
  });

  it('shares a group only with its like, and has one group in flight', async () => {
    const fake = await openFake();
    for (const text of 'ab') fake.wait(text, wait);
    fake.wait('c', { ...wait, replicas: 1 });
    fake.wait('d', { ...wait, timeoutMs: 60 });
    fake.call('e');
    await turn();
    const { sent } = fake.connection.own;
    const texts = (): string[] => sent.map(({ commands: [command] }) => fake.textsOf(command?.[1] ?? []));
    expect([texts(), fake.sent(), fake.busy.size]).toEqual([['ab', 'c', 'd'], ['e'], 4]);
    for (const text of 'fg') fake.wait(text, wait);
    await turn();
    // WAIT blocks its connection, so the next group waits.
    expect(sent).toHaveLength(3);
    sent[0]?.replies.resolve([[1, 2], 2]);
    await turn();
    expect(texts().slice(3)).toEqual(['fg']);
  });
});
