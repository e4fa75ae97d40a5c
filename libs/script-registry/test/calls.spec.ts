import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { eventually } from '../../../test/support/wait';
import { FakeNode, FEW, openFake, outcomeOf, refused } from './fake-redis';

/** Replies to all commands that have none yet; each call gets its text. */
function answerer({ a, textsOf }: Awaited<ReturnType<typeof openFake>>) {
  let next = 0;
  return (): void => {
    for (; next < a.sent.length; next++) {
      const texts = textsOf((a.sent[next] as FakeNode['last']).args);
      a.sent[next]?.replied(texts.length === 1 ? texts : [...texts]);
    }
  };
}

describe('calls of one script', () => {
  it('go alone, at once, while few are in flight', async () => {
    const { a, few, sent, lone } = await openFake();
    const made = few();
    expect(sent()).toEqual(made.map(() => 'x'));
    for (const { name, args } of a.sent) expect([name, ...args]).toEqual(['EVALSHA', lone.sha, '1', 'k', 'x']);
    a.sent[1]?.replied(Buffer.from('é'));
    await turn();
    expect(made.map(outcomeOf)).toEqual(made.map((_, i) => (i === 1 ? 'é' : 'pending')));
  });

  it('share a command at the end of the turn, if they are more, in their order', async () => {
    const { a, few, calls, sent, group } = await openFake();
    const alone = few();
    const made = calls('efg');
    expect(sent()).toHaveLength(FEW);
    await nextTurn();
    expect(sent().slice(FEW)).toEqual(['efg']);
    expect(a.last).toMatchObject({ name: 'EVALSHA', args: [group.sha, '1', 'k', '3', '1', '1', 'e', 'f', 'g'] });
    a.last.replied([5, null, Buffer.from('x')]);
    await turn();
    expect(made.map(({ settled }) => settled)).toEqual([[5], [null], ['x']]);
    expect(alone.map(outcomeOf)).toEqual(alone.map(() => 'pending'));
  });

  it('stay in groups while there is a crowd, and go alone again when few are left', async () => {
    const fake = await openFake();
    const { few, calls, sent } = fake;
    const answer = answerer(fake);
    few();
    calls('efg');
    await nextTurn();
    answer();
    // As after the reply of a group: its callers call again together.
    calls('hi');
    expect(sent().slice(FEW)).toEqual(['efg']);
    await nextTurn();
    expect(sent().slice(FEW + 1)).toEqual(['h', 'i']);
    answer();
    calls('j');
    expect(sent().at(-1)).toBe('j');
  });

  it('go each alone without grouping, with `maxCalls` 1, and if they are too large', async () => {
    for (const [setup, more, loads] of [
      [{ grouping: false }, '', 1],
      [{ maxCalls: 1 }, '', 1],
      [{}, 'x'.repeat(70_000), 2],
    ] as const) {
      const { calls, sent, a } = await openFake(setup);
      calls('abcdef', { more: [more] });
      await nextTurn();
      expect(sent()).toEqual([...'abcdef']);
      expect(a.loads).toHaveLength(loads);
    }
  });

  it.each([
    ['so many calls', { maxCalls: 3 }, 0, ['efg', 'h']],
    ['so many characters', {}, 21_900, ['ef', 'g', 'h']],
  ])('leave as soon as a group has %s', async (_, setup, chars, groups) => {
    const { few, calls, sent } = await openFake(setup);
    few();
    calls('efgh', { more: ['x'.repeat(chars)] });
    expect(sent().slice(FEW)).toEqual(groups.slice(0, -1));
    await nextTurn();
    expect(sent().slice(FEW)).toEqual(groups);
  });

  it('share a group only up to 4,096 keys and arguments', async () => {
    const { few, call, sent } = await openFake();
    few();
    for (const text of 'efgh') call(text, { more: Array<string>(1_500).fill('') });
    await nextTurn();
    expect(sent().slice(FEW)).toEqual(['ef', 'gh']);
  });

  it('share a group only if they have as many keys and arguments', async () => {
    const { few, calls, call, sent } = await openFake();
    few();
    calls('e');
    call('f', { more: ['1'] });
    call('g', { more: ['2'] });
    calls('h');
    await nextTurn();
    expect(sent().slice(FEW)).toEqual(['e', 'fg', 'h']);
  });

  it.each([
    ['one key and equal arguments once', ['k', 'k'], 'xx', ['1', 'k', '2', '1', '1', 'x']],
    ['one key once, and other arguments each', ['k', 'k'], 'xy', ['1', 'k', '2', '1', '1', 'x', 'y']],
    ['each key, and equal arguments once', ['k', 'l'], 'xx', ['2', 'k', 'l', '2', '1', '1', 'x']],
    ['each key and each argument', ['k', 'l'], 'xy', ['2', 'k', 'l', '2', '1', '1', 'x', 'y']],
  ])('are sent with %s', async (_, keys, texts, words) => {
    const { few, call, a } = await openFake();
    few();
    for (const [i, key] of keys.entries()) call(texts[i] as string, { key });
    await nextTurn();
    expect(a.last.args.slice(1)).toEqual(words);
  });

  it('wait while `maxCallsInFlight` are in flight', async () => {
    const { few, calls, sent, a } = await openFake({ maxCallsInFlight: FEW + 1, maxCalls: 3 });
    few();
    calls('efghij');
    await nextTurn();
    // One group may exceed the limit.
    expect(sent().slice(FEW)).toEqual(['efg']);
    for (const command of a.sent.slice(0, 2)) command.replied('x');
    await nextTurn();
    expect(sent()).toHaveLength(FEW + 1);
    a.last.replied(['e', 'f', 'g']);
    await nextTurn();
    expect(sent().slice(FEW + 1)).toEqual(['hij']);
    const one = await openFake({ maxCallsInFlight: 1 });
    one.calls('ab');
    await nextTurn();
    expect(one.sent()).toEqual(['a']);
    one.a.last.replied('a');
    await nextTurn();
    expect(one.sent()).toEqual(['a', 'b']);
  });

  it('wait for a reply while 4 groups are in flight and Redis is busy, unless they fill a group', async () => {
    const { few, calls, sent, a } = await openFake({ maxCalls: 8 });
    few();
    for (const texts of ['ww', 'yy', 'zz', '00']) {
      calls(texts);
      await nextTurn();
    }
    calls('ef');
    await nextTurn();
    expect(sent().slice(FEW)).toEqual(['ww', 'yy', 'zz', '00']);
    calls('ghijkl');
    expect(sent().slice(FEW + 4)).toEqual(['efghijkl']);
    calls('mn');
    await nextTurn();
    expect(sent()).toHaveLength(FEW + 5);
    for (const command of a.sent.slice(FEW, FEW + 2)) command.replied([1, 2]);
    await nextTurn();
    expect(sent().slice(FEW + 5)).toEqual(['mn']);
  });

  it('of different slots of a Cluster go to their own nodes, apart', async () => {
    const { connection, a, call } = await openFake({ clustered: true });
    const b = new FakeNode('b');
    connection.all.push(b);
    connection.nodeFor = (slot) => (slot === 15495 ? a : slot === 3300 ? b : undefined);
    connection.changed(b);
    await turn();
    for (let i = 0; i < FEW + 2; i++) {
      call('x', { key: 'a' });
      call('y', { key: 'b' });
    }
    await nextTurn();
    for (const [node, key] of [
      [a, 'a'],
      [b, 'b'],
    ] as const) {
      // prettier-ignore
      expect(node.sent.map(({ args }) => args.slice(1, 3))).toEqual(Array(FEW + 1).fill(['1', key]));
    }
  });

  it('follow a node that took the place of another', async () => {
    const { connection, a, calls, sent } = await openFake();
    calls('a');
    const b = new FakeNode('b');
    connection.all = [b];
    connection.changed(b);
    await turn();
    calls('b');
    expect([sent(a), sent(b)]).toEqual([['a'], ['b']]);
  });

  it.each([
    ['there is no node', { present: false, ready: true }],
    ['the node is not ready', { present: true, ready: false }],
    ['the first load of scripts has not ended', { present: true, ready: true }],
  ])('wait while %s', async (what, { present, ready }) => {
    const { connection, a, calls, sent } = await openFake();
    let open!: (value: unknown) => void;
    a.ready = ready;
    connection.nodeFor = () => (present ? a : undefined);
    if (what.includes('load')) {
      a.gate = new Promise((resolve) => (open = resolve));
      connection.changed(a);
    }
    calls('abcdef');
    await turn();
    expect(sent()).toEqual([]);
    // The client may have to find the node first.
    await sleep(120);
    expect(connection.refreshes).toBeGreaterThan(0);
    a.ready = true;
    connection.nodeFor = () => a;
    open?.(undefined);
    connection.changed(a);
    await turn();
    expect(sent().join('')).toBe('abcdef');
  });
});

describe('replies that cannot be used', () => {
  it('of a `reply` function that throws reject only their calls', async () => {
    const fake = await openFake({
      reply: (raw) => {
        if (raw === 'x') throw new Error('no');
        return raw;
      },
    });
    const made = fake.calls('abxdexg');
    await nextTurn();
    answerer(fake)();
    await turn();
    expect(made.map(outcomeOf)).toEqual(['a', 'b', 'REPLY_DECODE', 'd', 'e', 'REPLY_DECODE', 'g']);
    expect(made[5]?.settled).toEqual([
      expect.objectContaining({ message: expect.stringContaining('`reply` function threw') as string }),
    ]);
    expect([...fake.busy].every(({ idle }) => idle)).toBe(true);
  });

  it.each([[[1]], [[1, 2, 3]], ['x'], [null]])('of a group are incomplete: %j for 2 calls', async (reply) => {
    const { few, calls, a } = await openFake();
    few();
    const made = calls('ef');
    await nextTurn();
    a.last.replied(reply);
    await turn();
    expect(made.map(outcomeOf)).toEqual(['REPLY_DECODE', 'REPLY_DECODE']);
    expect(String(made[0]?.settled[0])).toContain('for 2 calls), so the result is lost.');
  });

  it('of a group may be the error of a call, whatever its code', async () => {
    const { few, calls, a } = await openFake();
    few();
    const made = calls('efgh');
    await nextTurn();
    a.last.replied([1, new Error('OOM quota'), new Error('ERR user_script:3: x, on @user_script:3.'), 4]);
    await turn();
    expect(made.map(outcomeOf)).toEqual([1, 'SCRIPT_FAILED', 'SCRIPT_FAILED', 4]);
    expect(String(made[2]?.settled[0])).toContain('test.any failed: ERR user_script:2: x');
  });
});

describe('calls that end early', () => {
  it('were not sent, or may have run, at their deadline', async () => {
    const { calls, call, a, busy } = await openFake({ maxCallsInFlight: 1 });
    const made = [call('a', { deadlineMs: 30 }), call('b', { deadlineMs: 30 })];
    const [later] = calls('c');
    await Promise.all(made.map(({ done }) => done));
    expect(made.map(outcomeOf)).toEqual(['UNKNOWN_OUTCOME', 'NOT_SENT']);
    // A late reply changes nothing, and the call behind is sent.
    a.last.replied('late');
    await turn();
    a.last.replied('c');
    await later?.done;
    expect([made.map(outcomeOf), later?.settled]).toEqual([['UNKNOWN_OUTCOME', 'NOT_SENT'], ['c']]);
    expect([a.sent.length, [...busy].every(({ idle }) => idle)]).toEqual([2, true]);
  });

  it('leave the memory, and no longer count for the size of a group', async () => {
    const { connection, call, calls, busy, sent, a } = await openFake();
    connection.nodeFor = () => undefined;
    const expired = [...'abcde'].map((text) => call(text, { deadlineMs: 20, more: ['x'.repeat(20_000)] }));
    const queueOf = (): unknown => [...busy].map((lane) => (lane as unknown as { queue: unknown[] }).queue.length);
    expect(queueOf()).toEqual([5]);
    await Promise.all(expired.map(({ done }) => done));
    // The lane is released with its last call.
    await eventually(() => expect(busy.size).toBe(0));
    connection.nodeFor = () => a;
    calls('fg');
    expect(sent()).toEqual(['f', 'g']);
  });

  it('of a closed ScriptRegistry were not sent, or may have run', async () => {
    const { registry, connection, calls } = await openFake({ maxCallsInFlight: 1 });
    const made = calls('ab');
    registry.close();
    registry.close();
    made.push(...calls('c'));
    await turn();
    expect(made.map(outcomeOf)).toEqual(['UNKNOWN_OUTCOME', 'NOT_SENT', 'NOT_SENT']);
    expect(String(made[0]?.settled[0])).toContain('before the app closed ScriptRegistry');
    expect(String(made[2]?.settled[0])).toContain('ScriptRegistry "main" is closed');
    expect(connection.closed).toBe(true);
  });

  it('leave no lane behind when all have ended', async () => {
    const fake = await openFake({ clustered: true });
    for (const key of ['a', 'b', 'c']) fake.call('x', { key });
    expect(fake.busy.size).toBe(3);
    answerer(fake)();
    await eventually(() => expect(fake.busy.size).toBe(0));
  });
});

describe('events', () => {
  const published = new Published(ScriptRegistryEvents);
  const any = { registry: 'main', script: 'test.any' };
  const take = (event: string): unknown[] =>
    published.take().flatMap((one) => ((one as [string])[0] === event ? [(one as [string, unknown])[1]] : []));

  it('say that calls were sent, and how many are in flight', async () => {
    const { few, calls } = await openFake();
    few();
    calls('ef');
    await nextTurn();
    const sizes = [...Array<number>(FEW).fill(1), 2];
    expect(take('groupSent')).toEqual(sizes.map((size, i) => ({ ...any, node: 'a', calls: size, inFlight: i + 1 })));
  });

  it('say that a group ended, and how long it took', async () => {
    const { a, few, calls } = await openFake();
    few();
    calls('ef');
    await nextTurn();
    published.take();
    a.last.replied([1, 2]);
    a.sent[0]?.replied(1);
    const ended = take('groupEnded');
    expect(ended).toMatchObject([2, 1].map((size) => ({ ...any, node: 'a', calls: size })));
    for (const { durationMs } of ended as { durationMs: number }[]) expect(durationMs).toBeGreaterThanOrEqual(0);
  });

  it('name the error of a call that failed', async () => {
    const { a, call } = await openFake();
    const made = call('a');
    a.last.failed(refused('ERR bad'));
    await made.done;
    expect(take('callFailed')).toEqual([{ ...any, error: made.settled[0] }]);
  });

  it('say that a call began and ended', async () => {
    const { a, call } = await openFake();
    const made = [call('a'), call('b')];
    const started = published.take().filter((one) => (one as [string])[0] === 'callStarted');
    expect(started).toEqual(Array(2).fill(['callStarted', any]));
    a.sent[0]?.replied(1);
    a.sent[1]?.failed(refused('ERR bad'));
    await Promise.all(made.map(({ done }) => done));
    await turn();
    const ended = take('callEnded') as { call: unknown; error: unknown }[];
    expect(ended.map(({ call: begun }) => begun)).toEqual(started.map((one) => (one as unknown[])[1]));
    expect(ended.map(({ error }) => error)).toEqual([undefined, made[1]?.settled[0]]);
  });
});

describe('the time of groups', () => {
  it('is measured in Redis after a late reply, and never that of a lone call', async () => {
    const { a, few, calls, sent } = await openFake();
    few();
    calls('ef');
    await nextTurn();
    await sleep(15);
    expect(a.last.took).toBeUndefined();
    // One call stays in flight, because a lane without calls is forgotten after a while.
    for (const command of a.sent.slice(1, FEW)) command.replied(1);
    a.last.replied([1, 2]);
    await turn();
    calls('ghijklm');
    await nextTurn();
    expect(sent().at(-1)).toBe('ghijklm');
    expect(a.last.took).toEqual(expect.any(Function));
    // Ten ms a call: the next groups have one call.
    await sleep(15);
    a.last.took?.(70);
    a.last.replied([1, 2, 3, 4, 5, 6, 7]);
    await turn();
    calls('nopqrstu');
    await nextTurn();
    expect(sent().slice(FEW + 2)).toEqual([...'nopqrstu']);
  });
});
