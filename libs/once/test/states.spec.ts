import { defineScript, str } from 'luanest/script-registry';
import { NOW, NOW_US, ScriptStates } from '../../../test/support/script-states';
import { claimOnce, confirmOnce, firstOnce, onceScripts, peekOnce, releaseOnce, renewOnce } from '../src/once.scripts';
import { claimLua, confirmLua, firstLua, renewLua } from '../src/scripts/generated';

const LEASE_MS = 60_001;
/** Of twelve digits, as the layout of a claim has them. */
const RETENTION_MS = 123_456_789_012;

/** The same scripts, with arguments that the library does not send, and with the replies of Redis. */
const claimText = defineScript({
  name: 'states.claim',
  ...claimLua,
  keys: ['claim'],
  args: { token: str, leaseMs: str, retentionMs: str, delivery: str, fingerprint: str },
  reply: (answer: string) => answer,
});
const renewText = defineScript({
  name: 'states.renew',
  ...renewLua,
  keys: ['claim'],
  args: { token: str, leaseMs: str, operation: str },
  reply: (answer: unknown) => answer,
});

const confirmText = defineScript({
  name: 'states.confirm',
  ...confirmLua,
  keys: ['claim'],
  args: { token: str, result: str },
  reply: (answer: unknown) => answer,
});
const firstText = defineScript({
  name: 'states.first',
  ...firstLua,
  keys: ['first'],
  args: { token: str, retentionMs: str },
  reply: (answer: unknown) => answer,
});

const digits = (value: number, length: number): string => String(value).padStart(length, '0');

describe.each([
  ['short', ''],
  ['long', 'x'.repeat(1_000)],
])('each script of an id, with %s texts, in a state and at a time of which all is known,', (_, more) => {
  const states = new ScriptStates([...onceScripts, claimText, renewText, confirmText, firstText]);
  const [me, before, operation, print] = ['me', 'before', 'operation', 'print'].map((text) => text + more) as [
    string,
    string,
    string,
    string,
  ];
  /** A claim of mine that lasts 1 ms more. */
  const mine = {
    head: 'cl',
    fence: 7,
    till: NOW + 1,
    token: me,
    released: before,
    renewal: operation,
    fingerprint: print,
    result: '',
  };
  type Claim = Partial<typeof mine>;
  const textOf = (claim: Claim): string => {
    const { head, fence, till, token, released, renewal, fingerprint, result } = { ...mine, ...claim };
    const texts = [token, released, renewal, fingerprint];
    const lengths = texts.map(({ length }) => digits(length, 4)).join('');
    return `${head}${digits(fence, 16)}${till}${RETENTION_MS}${lengths}:${texts.join('')}${result}`;
  };
  const put = (claim: Claim = {}) => states.put('SET', 'claim', textOf(claim), 'PX', 5_000);
  const claim = (args: object = {}) =>
    states.call(claimOnce, {
      token: me,
      leaseMs: LEASE_MS,
      retentionMs: RETENTION_MS,
      delivery: 'at-least-once',
      fingerprint: print,
      ...args,
    });
  const renew = (args: object = {}) =>
    states.call(renewOnce, { token: me, leaseMs: LEASE_MS, operation: 'next', ...args });
  const confirm = (token = me) => states.call(confirmOnce, { token, result: 'result' });
  const release = (token = me) => states.call(releaseOnce, { token });
  const peek = () => states.call(peekOnce, {});
  /** Calls in a claim, after which the key is the same. */
  const unchanged = async (state: Claim, call: () => Promise<unknown>): Promise<unknown> => {
    put(state);
    const [reply, keys] = await states.after(call());
    expect(keys).toEqual({ claim: `${textOf(state)} | 5000` });
    return reply;
  };
  const fresh = { fence: NOW_US, till: NOW + LEASE_MS, released: '', renewal: '' };
  const claimed = ({ fence, till }: { fence: number; till: number }) => ({
    status: 'claimed',
    text: digits(fence, 16) + till,
  });

  it('claim: gets a new id', async () => {
    expect(await states.after(claim())).toEqual([claimed(fresh), { claim: `${textOf(fresh)} | ${RETENTION_MS}` }]);
    states.put('DEL', 'claim');
    states.clock.set(NOW + 0.001);
    const args = { leaseMs: 999_999_999_999, delivery: 'at-most-once', fingerprint: '' };
    const other = { ...fresh, head: 'cm', fence: NOW_US + 1, till: NOW + 999_999_999_999, fingerprint: '' };
    expect(await states.after(claim(args))).toEqual([claimed(other), { claim: `${textOf(other)} | 999999999999` }]);
  });

  it('claim: in one group, each id gets its own token, time and fingerprint', async () => {
    const argsOf: object[] = [
      {},
      { token: `${me}1` },
      { fingerprint: '' },
      { leaseMs: 9 },
      { leaseMs: 9, token: 'new' },
    ];
    const calls = argsOf.map((args, at) =>
      states.call(
        claimOnce,
        {
          token: me,
          leaseMs: LEASE_MS,
          retentionMs: RETENTION_MS,
          delivery: 'at-least-once',
          fingerprint: print,
          ...args,
        },
        { claim: `claim${at}` },
      ),
    );
    const [, keys] = await states.after(Promise.all(calls));
    expect(keys).toEqual({
      claim0: `${textOf(fresh)} | ${RETENTION_MS}`,
      claim1: `${textOf({ ...fresh, token: `${me}1` })} | ${RETENTION_MS}`,
      claim2: `${textOf({ ...fresh, fingerprint: '' })} | ${RETENTION_MS}`,
      claim3: `${textOf({ ...fresh, till: NOW + 9 })} | ${RETENTION_MS}`,
      claim4: `${textOf({ ...fresh, till: NOW + 9, token: 'new' })} | ${RETENTION_MS}`,
    });
  });

  it('claim: in one group, each claim differs from the one before by one argument', async () => {
    const rows = [
      ['a', '5', '5', 'at-least-once', ''],
      ['a', '7', '5', 'at-least-once', ''],
      ['a', '7', '9', 'at-least-once', ''],
      ['a', '9', '9', 'at-least-once', ''],
      ['a', '9', '9', 'at-most-once', ''],
      ['bb', '9', '9', 'at-most-once', ''],
      ['bb', '9', '9', 'at-most-once', 'ff'],
      ['bb', '9', '9', 'at-most-once', 'fff'],
      ['c', '9', '9', 'at-most-once', 'fff'],
      ['c', '9', '11', 'at-most-once', 'fff'],
    ];
    const calls = rows.map(([token, leaseMs, retentionMs, delivery, fingerprint], at) =>
      states.call(claimText, { token, leaseMs, retentionMs, delivery, fingerprint }, { claim: `claim${at}` }),
    );
    const [, keys] = await states.after(Promise.all(calls));
    rows.forEach(([token = '', leaseMs, retentionMs, delivery, fingerprint = ''], at) => {
      const head = `${delivery === 'at-most-once' ? 'cm' : 'cl'}${NOW_US}${NOW + Number(leaseMs)}`;
      const lengths = `${digits(token.length, 4)}00000000${digits(fingerprint.length, 4)}`;
      const text = `${head}${digits(Number(retentionMs), 12)}${lengths}:${token}${fingerprint}`;
      expect(keys[`claim${at}`]).toBe(`${text} | ${Math.max(Number(leaseMs), Number(retentionMs))}`);
    });
  });

  it('confirm and first: return a text or a number in any case', async () => {
    put();
    expect(await states.call(confirmText, { token: me, result: '' })).toBe('confirmed');
    expect(await states.call(firstText, { token: 'a', retentionMs: '5' })).toBe(1);
    expect(await states.call(firstText, { token: 'b', retentionMs: '5' })).toBe(0);
  });

  it('claim and renew: refuse a time that is not from 1 to 999999999999, and change nothing', async () => {
    const args = { token: me, leaseMs: '1', retentionMs: '1', delivery: 'at-least-once', fingerprint: '' };
    for (const wrong of ['0', '1000000000000', '1.5', 'x']) {
      expect(await states.after(states.call(claimText, { ...args, leaseMs: wrong }))).toEqual(['error BADTTL', {}]);
      expect(await states.after(states.call(claimText, { ...args, retentionMs: wrong }))).toEqual(['error BADTTL', {}]);
      const call = () => states.call(renewText, { token: me, leaseMs: wrong, operation: 'next' });
      expect(await unchanged({}, call)).toBe('error BADTTL');
      states.put('DEL', 'claim');
    }
    expect(await states.after(states.call(claimText, args))).toEqual([
      `c${digits(NOW_US, 16)}${NOW + 1}`,
      { claim: expect.stringMatching(/ \| 1$/) as string },
    ]);
    states.put('DEL', 'claim');
    expect((await claim({ retentionMs: 999_999_999_999 })) as object).toMatchObject({ status: 'claimed' });
    put({ head: 'rl' });
    expect((await states.after(states.call(renewText, { token: me, leaseMs: '1', operation: 'o' })))[0]).toEqual([
      'lost',
      '0',
    ]);
  });

  it('claim: returns the claim to its owner, and the time that is left to others', async () => {
    expect(await unchanged({}, claim)).toEqual(claimed({ fence: 7, till: NOW + 1 }));
    expect(await unchanged({}, () => claim({ token: 'other' }))).toEqual({ status: 'in-progress', text: '1' });
    expect(await unchanged({ head: 'cm' }, () => claim({ token: 'other' }))).toEqual({
      status: 'in-progress',
      text: '1',
    });
    expect(await unchanged({}, () => claim({ fingerprint: 'else' }))).toEqual({ status: 'mismatch', text: '' });
    expect(await unchanged({ head: 'cm', till: NOW }, claim)).toEqual({ status: 'abandoned', text: '' });
    const done = { head: 'dl', till: NOW, result: 'the result' };
    expect(await unchanged(done, claim)).toEqual({ status: 'done', text: 'the result' });
    expect(await unchanged(done, () => claim({ fingerprint: '' }))).toEqual({ status: 'mismatch', text: '' });
  });

  it('claim: repairs a TTL that is missing', async () => {
    states.put('SET', 'claim', textOf({}));
    expect((await states.after(claim()))[1]).toEqual({ claim: `${textOf({})} | ${RETENTION_MS}` });
  });

  it.each([
    ['that has ended', { till: NOW }, before],
    ['of another, that has ended', { till: NOW, token: 'other' }, before],
    ['that was released', { head: 'rl', till: NOW + 9, token: 'other' }, 'other'],
    ['that was released, at most once', { head: 'rm', token: 'other', fingerprint: 'else' }, 'other'],
  ])('claim: takes an id from a claim %s', async (__, state, released) => {
    put(state);
    const taken = { ...fresh, released };
    expect(await states.after(claim())).toEqual([claimed(taken), { claim: `${textOf(taken)} | ${RETENTION_MS}` }]);
    put({ ...state, fence: NOW_US });
    const next = { ...taken, fence: NOW_US + 1 };
    expect(await states.after(claim())).toEqual([claimed(next), { claim: `${textOf(next)} | ${RETENTION_MS}` }]);
  });

  it('all: refuse a value of another program, and change nothing', async () => {
    for (const value of ['x', `cl${'1'.repeat(56)}:${me}`, `cl${'1'.repeat(58)}:${me}`, `el${'1'.repeat(57)}:${me}`]) {
      for (const call of [claim, renew, confirm, release, peek]) {
        states.put('SET', 'claim', value);
        expect(await states.after(call())).toEqual(['error BADCLAIM', { claim: value }]);
      }
    }
  });

  it('renew: extends the lease of its owner', async () => {
    const lost = { status: 'lost', leaseEndsAtMs: 0 };
    expect(await states.after(renew())).toEqual([lost, {}]);
    for (const state of [{ head: 'rl' }, { head: 'dl' }, { till: NOW }, { token: `other${more}` }]) {
      expect(await unchanged(state, renew)).toEqual(lost);
    }
    const renewed = { till: NOW + LEASE_MS, renewal: 'next', result: 'text' };
    const reply = { status: 'renewed', leaseEndsAtMs: NOW + LEASE_MS };
    put({ result: 'text' });
    expect(await states.after(renew())).toEqual([reply, { claim: `${textOf(renewed)} | ${LEASE_MS}` }]);
    states.clock.set(NOW + 1);
    expect(await states.after(renew())).toEqual([reply, { claim: `${textOf(renewed)} | ${LEASE_MS - 1}` }]);
    states.clock.set(NOW);
    states.put('SET', 'claim', textOf({ head: 'cm' }), 'PX', LEASE_MS + 1);
    expect((await states.after(renew()))[1]).toEqual({
      claim: `${textOf({ head: 'cm', till: NOW + LEASE_MS, renewal: 'next' })} | ${LEASE_MS + 1}`,
    });
  });

  it('confirm: keeps the result for the retention of the claim', async () => {
    expect(await states.after(confirm())).toEqual([{ status: 'lost' }, {}]);
    for (const state of [{ head: 'rl' }, { till: NOW }, { token: `other${more}` }, { head: 'dl', token: 'other' }]) {
      expect(await unchanged(state, confirm)).toEqual({ status: 'lost' });
    }
    expect(await unchanged({ head: 'dl', till: NOW, result: 'first' }, confirm)).toEqual({ status: 'confirmed' });
    put({ head: 'cm' });
    expect(await states.after(confirm())).toEqual([
      { status: 'confirmed' },
      { claim: `${textOf({ head: 'dm', result: 'result' })} | ${RETENTION_MS}` },
    ]);
  });

  it('release: ends the claim of its owner', async () => {
    expect(await states.after(release())).toEqual(['lost', {}]);
    for (const state of [{ head: 'dl' }, { till: NOW }, { token: 'other' }, { token: 'other', released: `${me}2` }]) {
      expect(await unchanged(state, release)).toBe('lost');
    }
    for (const state of [{ head: 'rl' }, { token: 'other', released: me }, { head: 'rl', till: NOW }]) {
      expect(await unchanged(state, release)).toBe('released');
    }
    put({ head: 'cm' });
    expect(await states.after(release())).toEqual(['released', { claim: `${textOf({ head: 'rm' })} | 5000` }]);
    states.put('SET', 'claim', textOf({}));
    expect(await states.after(release())).toEqual([
      'released',
      { claim: `${textOf({ head: 'rl' })} | ${RETENTION_MS}` },
    ]);
  });

  it('peek: reads each state', async () => {
    const none = { status: 'unknown', fence: 0, leaseEndsAtMs: 0, expiresAtMs: 0, result: '' };
    const expiresAtMs = NOW + 5_000;
    expect(await states.after(peek())).toEqual([none, {}]);
    expect(await unchanged({ head: 'rl' }, peek)).toEqual(none);
    expect(await unchanged({ till: NOW }, peek)).toEqual(none);
    expect(await unchanged({ head: 'cm', till: NOW }, peek)).toEqual({ ...none, status: 'abandoned', expiresAtMs });
    expect(await unchanged({ head: 'dl', result: 'text' }, peek)).toEqual({
      ...none,
      status: 'done',
      expiresAtMs,
      result: 'text',
    });
    const running = { ...none, status: 'in-progress', fence: NOW_US, leaseEndsAtMs: NOW + 1 };
    expect(await unchanged({ fence: NOW_US }, peek)).toEqual({ ...running, expiresAtMs });
    states.put('SET', 'claim', textOf({ head: 'cm', fence: NOW_US }));
    expect((await states.after(peek()))[0]).toEqual({ ...running, expiresAtMs: -1 });
  });

  it('first: is the first call with the same token only', async () => {
    const first = (token: string) => states.call(firstOnce, { token, retentionMs: 1_000 });
    expect(await states.after(first(me))).toEqual([true, { first: `${me} | 1000` }]);
    states.clock.set(NOW + 1);
    expect(await states.after(first(me))).toEqual([true, { first: `${me} | 999` }]);
    expect(await states.after(first('other'))).toEqual([false, { first: `${me} | 999` }]);
  });
});
