import { defineScript, str } from 'luanest/script-registry';
import { NOW, ScriptStates } from '../../../test/support/script-states';
import { lookUp, readRewardScripts, recordRead } from '../src/read-reward.scripts';
import { lookLua } from '../src/scripts/generated';

/** Lengths of the next period, and points of an item. */
const NEXT_MS = 5_000;
const EACH = 10;
const [FROM, TO] = [NOW - 1_000, NOW + 2_000];
const END = TO + NEXT_MS;
const CURRENT = `${FROM}:${TO}:${END}:${EACH}:`;

/** The same script with another type of `gap`. */
const lookText = defineScript({
  name: 'states.look',
  ...lookLua,
  keys: ['state'],
  args: { itemId: str, current: str, gap: str },
  flags: ['no-writes'],
  reply: (found: number[]) => found,
});

describe('record and look, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates([...readRewardScripts, lookText]);
  const record = (itemId: string, { token = itemId, limit = 3, current = CURRENT } = {}) =>
    states.call(recordRead, { itemId, grant: `${EACH}::${token}`, limit, gap: NEXT_MS, current });
  const look = (itemId: string, current = CURRENT) => states.call(lookUp, { itemId, current, gap: NEXT_MS });
  const put = (head: string, ttlMs = END - NOW, fields: readonly string[] = []) => {
    states.put('DEL', 'state');
    states.put('HSET', 'state', '', head, ...fields);
    if (ttlMs < 0) return;
    // A TTL of 0 would delete the key at once.
    states.clock.set(NOW - 5);
    states.put('PEXPIRE', 'state', ttlMs + 5);
    states.clock.set(NOW);
  };
  const rewarded = (used: number, refunds = 0) => ({ status: 1, used, seq: used + refunds });
  const duplicate = (used: number) => ({ status: 2, used, seq: 0 });
  const capped = (used: number) => ({ status: 3, used, seq: 0 });
  const NOT_DECIDED = { status: 0, used: 0, seq: 0 };
  const FOUND = { used: 3, known: true };
  const NOT_FOUND = { used: -1, known: false };

  it('record: rewards new items up to the limit, and returns a replay the first result', async () => {
    expect(await states.after(record('a'))).toEqual([
      rewarded(1),
      { state: `=${CURRENT}0:1:0, a=1:0:10::a | ${END - NOW}` },
    ]);
    states.clock.set(NOW + 1);
    const two = { state: `=${CURRENT}0:2:0, a=1:0:10::a, b=2:0:10::b | ${END - NOW - 1}` };
    expect(await states.after(record('b'))).toEqual([rewarded(2), two]);
    expect(await states.after(record('a'))).toEqual([rewarded(1), two]);
    expect(await states.after(record('a', { token: 'other' }))).toEqual([duplicate(2), two]);
    expect(await states.after(record('c', { limit: 2 }))).toEqual([capped(2), two]);
    expect(await states.after(record('c', { limit: 1 }))).toEqual([capped(2), two]);
    expect(await record('c')).toEqual(rewarded(3));
    expect(await record('d')).toEqual(capped(3));
  });

  it('record: in one group, each call finds what the calls before it have done', async () => {
    expect(await Promise.all([record('a'), record('a', { token: 'b' }), record('c', { limit: 1 })])).toEqual([
      rewarded(1),
      duplicate(1),
      capped(1),
    ]);
  });

  it('record: counts the refunds of the period', async () => {
    put(`${CURRENT}0:5:3`, END - NOW, ['a', '4:2:10::a', 'b', 'x']);
    expect(await record('a')).toEqual(rewarded(2, 2));
    expect(await record('b')).toEqual(duplicate(2));
    expect(await states.after(record('c'))).toEqual([
      rewarded(3, 3),
      { state: `=${CURRENT}0:6:3, a=4:2:10::a, b=x, c=6:3:10::c | ${END - NOW}` },
    ]);
  });

  it.each([
    ['ends when this one begins', `${FROM - 9}:${FROM}:${TO}:${EACH}:7:3:1`, TO - NOW, rewarded(1)],
    ['ends now', `${FROM - 9}:${FROM}:${NOW}:${EACH}:0:3:1`, 0, rewarded(1)],
    ['ends after this one began', `${FROM - 9}:${FROM + 1}:${TO}:${EACH}:0:3:1`, TO - NOW, NOT_DECIDED],
    ['has no TTL', `${FROM - 9}:${FROM}:${TO}:${EACH}:0:3:1`, -1, NOT_DECIDED],
    ['is this one without a TTL', `${CURRENT}0:1:0`, -1, NOT_DECIDED],
    ['is this one and has other points', `${CURRENT}-5:1:0`, END - NOW, NOT_DECIDED],
    ['has no end', 'x', END - NOW, NOT_DECIDED],
  ])('record: goes on after a period that %s, if it can', async (_, head, ttlMs, result) => {
    put(head, ttlMs, ['a', '3:1:10::a', 'old', '2:1:10::old']);
    const before = states.keys();
    expect(await states.after(record('a'))).toEqual([
      result,
      result === NOT_DECIDED ? before : { state: `=${CURRENT}0:1:0, a=1:0:10::a | ${END - NOW}` },
    ]);
  });

  it('record: knows by what is left of the state that the period has begun', async () => {
    put(`${CURRENT}0:1:0`, NEXT_MS);
    expect(await record('a', { limit: 0 })).toEqual(NOT_DECIDED);
    put(`${CURRENT}0:1:0`, NEXT_MS + 1);
    expect(await record('a', { limit: 0 })).toEqual(capped(1));
    put(`x${CURRENT}0:1:0`, NEXT_MS + 1);
    expect(await record('a')).toEqual(NOT_DECIDED);
  });

  it.each([
    [FROM, rewarded(1)],
    [FROM - 0.001, NOT_DECIDED],
    [TO - 0.001, rewarded(1)],
    [TO, NOT_DECIDED],
  ])('record: by a clock at %d', async (nowMs, result) => {
    states.clock.set(nowMs);
    const [reply, keys] = await states.after(record('a'));
    expect([reply, Object.keys(keys)]).toEqual([result, result === NOT_DECIDED ? [] : ['state']]);
  });

  it('record: reads a time with microseconds, and refuses a wrong period', async () => {
    states.clock.set(NOW + 999.5);
    const current = (from: number, to: number, end: number, each: string) => ({
      current: `${from}:${to}:${end}:${each}`,
    });
    expect(await record('a', current(NOW + 999, NOW + 1_000, NOW + 1_001, '10:'))).toEqual(rewarded(1));
    states.put('DEL', 'state');
    for (const wrong of [
      current(NOW + 1_000, NOW + 1_100, NOW + 2_000, '10:'),
      current(NOW, NOW + 1_100, NOW + 1_100, '10:'),
      current(NOW, NOW + 1_100, NOW + 1_200, '0:'),
      { current: 'x' },
    ]) {
      expect(await states.after(record('a', wrong))).toEqual([NOT_DECIDED, {}]);
    }
    expect(await states.after(record('a', { limit: 0 }))).toEqual([capped(0), {}]);
  });

  it('record: checks the permissions before the first write', async () => {
    const old = () => put(`${FROM - 9}:${FROM}:${TO}:${EACH}:0:3:1`);
    expect(await states.withDenied(['PEXPIREAT', 'HSET'], old, () => record('a'))).toEqual({
      PEXPIREAT: 'error NOTALLOWED',
      HSET: 'error NOTALLOWED',
    });
    expect(
      await states.withDenied(
        ['PEXPIREAT'],
        () => undefined,
        () => record('a'),
      ),
    ).toEqual({
      PEXPIREAT: 'error NOTALLOWED',
    });
  });

  it('look: returns what counts, or that it cannot decide', async () => {
    expect(await look('a')).toEqual(NOT_FOUND);
    put(`${CURRENT}0:5:2`, NEXT_MS + 1, ['a', '4:2:10::a']);
    expect(await look('a')).toEqual(FOUND);
    expect(await look('b')).toEqual({ used: 3, known: false });
    expect(await Promise.all([look('a'), look('b'), look('a')])).toEqual([FOUND, { used: 3, known: false }, FOUND]);
    expect(await look('a', CURRENT.replace('1', '2'))).toEqual(NOT_FOUND);
    for (const [head, ttlMs] of [
      [`${CURRENT}0:5:2`, NEXT_MS],
      [`${CURRENT}0:5:2`, -1],
      [`${CURRENT}5:5:2`, NEXT_MS + 1],
      [`0:${CURRENT}0:5:2`, NEXT_MS + 1],
      ['x', NEXT_MS + 1],
    ] as const) {
      put(head, ttlMs, ['a', '4:2:10::a']);
      expect(await look('a')).toEqual(NOT_FOUND);
    }
  });

  it('look: in one group, reads each period', async () => {
    put(`${CURRENT}0:5:2`, NEXT_MS + 1);
    const call = (current: string) => states.call(lookText, { itemId: 'a', current, gap: String(NEXT_MS) });
    expect(await Promise.all([call(CURRENT), call(`${CURRENT}0:`), call(CURRENT)])).toEqual([6, -1, 6]);
  });

  it('look: in one group, reads the state of each user', async () => {
    states.put('HSET', 'one', '', `${CURRENT}0:5:2`, 'a', '4:2:10::a');
    states.put('HSET', 'two', '', `${CURRENT}0:9:2`, 'b', '4:2:10::b');
    states.put('HSET', 'three', '', 'x');
    for (const name of ['one', 'two', 'three']) states.put('PEXPIRE', name, NEXT_MS + 1);
    const args = { itemId: 'a', current: CURRENT, gap: NEXT_MS };
    const names = ['one', 'two', 'three', 'one', 'none', 'two'];
    expect(await Promise.all(names.map((state) => states.call(lookUp, args, { state })))).toEqual([
      FOUND,
      { used: 7, known: false },
      NOT_FOUND,
      FOUND,
      NOT_FOUND,
      { used: 7, known: false },
    ]);
  });
});
