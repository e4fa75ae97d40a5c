import { NOW, ScriptStates } from '../../../test/support/script-states';
import { readRewardScripts, refundGrant } from '../src/read-reward.scripts';

const [FROM, TO, END] = [NOW - 1_000, NOW + 2_000, NOW + 6_000];

describe('refund, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(readRewardScripts);
  const refund = (args: Readonly<Record<string, string | number>> = {}) =>
    states.call(refundGrant, {
      itemId: 'a',
      start: FROM,
      seq: 4,
      token: 'token',
      answerMs: 500,
      everMs: 700,
      ledgerMs: 900,
      name: 'rule',
      userId: 'user',
      ...args,
    });
  const after = async (call: Promise<unknown>): Promise<readonly unknown[]> => {
    const [reply, keys] = await states.after(call);
    return [typeof reply === 'object' ? Object.values(reply as object).join(' ') : reply, keys];
  };
  const put = (
    head = `${FROM}:${TO}:${END}:10:-7:5:2`,
    fields: readonly string[] = ['a', '4:2:3:5:x', 'b', '5:2:10:4:y'],
  ) => {
    for (const name of ['state', 'ever', 'receipt', 'ledger']) states.put('DEL', name);
    states.put('HSET', 'state', '', head, ...fields);
    states.put('PEXPIRE', 'state', END - NOW);
    states.put('SADD', 'ever', 'a', 'b');
    states.put('PEXPIRE', 'ever', 8_000);
  };

  it('takes a grant back, and returns a replay the first result', async () => {
    put();
    states.clock.set(NOW + 0.5);
    expect(await after(refund())).toEqual([
      'refunded 3 2',
      {
        ever: 'b | 8000',
        ledger:
          '1800000000000-0 kind=refund rule=rule user=user item=a points=3 start=1799999999000 seq=4 at=1800000000000 | 900',
        receipt: '3:2:token | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:0:5:3, b=5:2:10:4:y | 6000',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await after(refund())).toEqual([
      'refunded 3 2',
      {
        ever: 'b | 7999',
        ledger:
          '1800000000000-0 kind=refund rule=rule user=user item=a points=3 start=1799999999000 seq=4 at=1800000000000 | 899',
        receipt: '3:2:token | 499',
        state: '=1799999999000:1800000002000:1800000006000:10:0:5:3, b=5:2:10:4:y | 5999',
      },
    ]);
    expect(await after(refund({ token: 'other' }))).toEqual([
      'already-refunded 0 2',
      {
        ever: 'b | 7999',
        ledger:
          '1800000000000-0 kind=refund rule=rule user=user item=a points=3 start=1799999999000 seq=4 at=1800000000000 | 899',
        receipt: '3:2:token | 499',
        state: '=1799999999000:1800000002000:1800000006000:10:0:5:3, b=5:2:10:4:y | 5999',
      },
    ]);
    states.put('DEL', 'receipt');
    expect(await after(refund())).toEqual([
      'unknown 0 0',
      {
        ever: 'b | 7999',
        ledger:
          '1800000000000-0 kind=refund rule=rule user=user item=a points=3 start=1799999999000 seq=4 at=1800000000000 | 899',
        state: '=1799999999000:1800000002000:1800000006000:10:0:5:3, b=5:2:10:4:y | 5999',
      },
    ]);
  });

  it('takes back the last grant, without a ledger', async () => {
    put();
    expect(await after(refund({ itemId: 'b', seq: 5, ledgerMs: 0, everMs: 0 }))).toEqual([
      'refunded 10 2',
      {
        ever: 'a | 8000',
        receipt: '10:2:token | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:-7:5:3, a=4:2:3:5:x | 6000',
      },
    ]);
  });

  it('takes a grant back until its period ends', async () => {
    put();
    states.clock.set(TO - 1);
    expect((await after(refund()))[0]).toEqual('refunded 3 2');
    states.clock.set(NOW);
    put();
    states.clock.set(TO);
    expect(await after(refund())).toEqual([
      'expired 0 0',
      {
        ever: 'a, b | 6000',
        state: '=1799999999000:1800000002000:1800000006000:10:-7:5:2, a=4:2:3:5:x, b=5:2:10:4:y | 4000',
      },
    ]);
  });

  it.each([
    ['there is no state', '', [], {}, 'expired 0 0'],
    ['the period began later', undefined, undefined, { start: FROM - 1 }, 'expired 0 0'],
    ['the period began earlier', undefined, undefined, { start: FROM + 1 }, 'unknown 0 0'],
    ['the number was not granted yet', undefined, undefined, { seq: 6 }, 'unknown 0 0'],
    ['the item has another number', undefined, undefined, { seq: 5 }, 'unknown 0 0'],
    ['the item was not granted', undefined, undefined, { itemId: 'c' }, 'unknown 0 0'],
    ['the grant has another form', undefined, ['a', '4:x'], {}, 'unknown 0 0'],
  ])('refuses if %s, and changes nothing', async (_, head, fields, args, expected) => {
    put(head, fields);
    const before = states.keys();
    const [reply, keys] = await after(refund(args));
    expect(reply).toEqual(expected);
    expect(keys).toEqual(before);
  });

  it('sets each TTL that is missing', async () => {
    put();
    for (const name of ['state', 'ever']) states.put('PERSIST', name);
    states.put('SET', 'receipt', '1:2:x');
    states.put('XADD', 'ledger', '1-1', 'f', 'v');
    expect(await after(refund({ seq: 3 }))).toEqual([
      'already-refunded 0 3',
      {
        ever: 'a, b | 700',
        ledger: '1-1 f=v | 900',
        receipt: '1:2:x | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:-7:5:2, a=4:2:3:5:x, b=5:2:10:4:y | 6000',
      },
    ]);
    for (const name of ['state', 'ever']) states.put('PERSIST', name);
    states.put('SET', 'receipt', '12:34:token');
    states.put('PERSIST', 'ledger');
    expect(await after(refund({ seq: 3, everMs: 400, ledgerMs: 0 }))).toEqual([
      'refunded 12 34',
      {
        ever: 'a, b | 500',
        ledger: '1-1 f=v',
        receipt: '12:34:token | 500',
        state: '=1799999999000:1800000002000:1800000006000:10:-7:5:2, a=4:2:3:5:x, b=5:2:10:4:y | 6000',
      },
    ]);
    states.put('DEL', 'state');
    states.put('HSET', 'state', 'x', 'y');
    expect(await after(refund({ seq: 3 }))).toEqual([
      'refunded 12 34',
      { ever: 'a, b | 500', ledger: '1-1 f=v | 900', receipt: '12:34:token | 500', state: 'x=y | 500' },
    ]);
  });

  it('keeps a ledger for 1 ms, or leaves it alone', async () => {
    put();
    states.put('XADD', 'ledger', '1-1', 'f', 'v');
    await refund({ seq: 3, ledgerMs: 1 });
    expect(states.keys().ledger).toBe('1-1 f=v | 1');
    states.put('PERSIST', 'ledger');
    await refund({ ledgerMs: 0 });
    expect(states.keys().ledger).toBe('1-1 f=v');
    await refund({ itemId: 'b', seq: 5, token: 'b', ledgerMs: 1 });
    expect(states.keys().ledger).toMatch(/^1-1 f=v, .* item=b .* \| 1$/);
    expect(await states.withDenied(['XADD'], put, () => refund({ ledgerMs: 1 }))).toEqual({ XADD: 'error NOTALLOWED' });
    const setUp = () => {
      put();
      states.put('RPUSH', 'ledger', 'x');
    };
    setUp();
    const before = states.keys();
    expect(await after(refund({ seq: 3, ledgerMs: 1 }))).toEqual(['error WRONGTYPE', before]);
    expect((await after(refund({ ledgerMs: 0 })))[0]).toBe('refunded 3 2');
  });

  it('refuses a time that is too short', async () => {
    for (const args of [{ answerMs: 0 }, { everMs: -1 }, { ledgerMs: -1 }] as Record<string, number>[]) {
      put();
      const before = states.keys();
      expect(await after(refund(args))).toEqual(['error BADRULE', before]);
    }
    expect((await after(refund({ answerMs: 1 })))[0]).toEqual('refunded 3 2');
  });

  it('checks the permissions before the first write', async () => {
    const commands = ['SREM', 'HDEL', 'HSET', 'SET', 'XADD', 'PEXPIREAT'];
    const keys = ['SREM ever', 'HDEL state', 'HSET state', 'SET receipt', 'XADD ledger', 'PEXPIREAT ledger'];
    expect(await states.withDenied([...commands, ...keys], put, refund)).toEqual(
      Object.fromEntries([...commands, ...keys].map((name) => [name, 'error NOTALLOWED'])),
    );
    put();
    expect((await states.withDenied(['XADD'], put, () => refund({ ledgerMs: 0 }))).XADD).toMatch(/keys changed/);
    put();
    expect((await after(Promise.all([refund(), refund({ itemId: 'b', seq: 5, token: 'b' })])))[1]).toEqual({
      ledger:
        '1800000000000-0 kind=refund rule=rule user=user item=a points=3 start=1799999999000 seq=4 at=1800000000000, 1800000000000-1 kind=refund rule=rule user=user item=b points=10 start=1799999999000 seq=5 at=1800000000000 | 900',
      receipt: '10:1:b | 500',
      state: '=1799999999000:1800000002000:1800000006000:10:0:5:4 | 6000',
    });
  });

  it('fails before it changes anything if a key has another type', async () => {
    const setUp = () => {
      put();
      states.put('XADD', 'ledger', '1-1', 'f', 'v');
    };
    expect(await states.withOtherTypes(['state', 'ever', 'receipt', 'ledger'], setUp, refund)).toEqual({
      state: 'error WRONGTYPE',
      ever: 'error WRONGTYPE',
      receipt: 'error WRONGTYPE',
      ledger: 'error WRONGTYPE',
    });
  });
});
