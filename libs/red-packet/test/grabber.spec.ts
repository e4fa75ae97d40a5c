import { NotSentError, UnknownOutcomeError } from 'luanest/script-registry';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { stateOf } from '../../../test/support/replies';
import { homeOf, Layouts } from '../src/buckets/layout';
import { Grabber } from '../src/grabs/grabber';

const time = new ManualTime();
const WON = { status: 'won', packet: { packetId: '1', grantedAtMs: 5 } };
const RING = 'ring p:red-packet:{11}:outbox';
const LOST = { state: 'open', pooled: 0, granted: 5, refundedPackets: 0, allPackets: 10, outgoing: [] };
const LEFT = { ...LOST, granted: 1 };

/** A grabber whose Redis the test is. */
function open(settings: { replicas?: number; transferWaitMs?: number } = {}) {
  const registry = new FakeRegistry();
  const layouts = new Layouts(registry.keySpace('red-packet'), 16);
  const seen: unknown[] = [];
  const state = { readings: [LOST, LOST], moved: 0, soldOut: false };
  const transfers = {
    readAll: () => Promise.resolve(state.readings),
    move: () => Promise.resolve(state.moved),
    finish: () => Promise.resolve(0),
  };
  const users = {
    has: () => state.soldOut,
    remember: ({ activityId }: { activityId: string }) => seen.push(`remember ${activityId}`),
  };
  const { replicas = 0, transferWaitMs = 100 } = settings;
  const options = { replicas, replicasTimeoutMs: 30, transferWaitMs };
  const won = (outbox: string): void => void seen.push(`ring ${outbox}`);
  const grabber = new Grabber(registry.asRegistry, layouts, transfers as never, users as never, options, won);
  const answer = async (reply: unknown): Promise<void> => {
    registry.last.reply.resolve(reply);
    await turn();
  };
  return { registry, layouts, grabber, seen, state, answer };
}

describe('the result of a grab', () => {
  it.each<[unknown, unknown, unknown[]]>([
    [WON, WON, [RING]],
    [{ ...WON, status: 'already-won' }, { ...WON, status: 'already-won' }, []],
    [{ status: 'none-left' }, { status: 'sold-out' }, ['remember a']],
    [{ status: 'empty' }, { status: 'try-again', retryAfterMs: 15 }, []],
    [{ status: 'too-many-tries' }, { status: 'too-many-tries' }, []],
    [{ status: 'not-open', reason: 'paused', opensInMs: 0 }, { status: 'not-open', reason: 'paused' }, []],
    [
      { status: 'not-open', reason: 'not-started', opensInMs: 70 },
      { status: 'not-open', reason: 'not-started', retryAfterMs: 70 },
      [],
    ],
  ])('is that of the bucket: %j', async (reply, result, seen) => {
    const one = open();
    const grabbed = one.grabber.grab('a', 'u');
    expect(one.registry.last.args).toEqual({ userId: 'u', mode: 0 });
    expect(one.registry.last.keys).toMatchObject({ meta: 'p:red-packet:{11}:meta:a' });
    await one.answer(reply);
    expect([await grabbed, one.seen]).toEqual([result, seen]);
  });

  it('is an error if the call failed, and a packet may have been won', async () => {
    const one = open();
    for (const error of [new UnknownOutcomeError('late'), new NotSentError('down')]) {
      const grabbed = one.grabber.grab('a', 'u');
      one.registry.last.reply.reject(error);
      await expect(grabbed).rejects.toBe(error);
    }
    expect(one.seen).toEqual([]);
  });

  it('is known without a call to a user who has lost', () => {
    const one = open();
    expect(one.grabber.knownResult('a', 'u')).toBeUndefined();
    one.state.soldOut = true;
    expect(one.grabber.knownResult('a', 'u')).toEqual({ status: 'sold-out' });
  });
});

describe('a grab in an activity with several buckets', () => {
  it('goes to the bucket of the user when their number is known', async () => {
    const { registry, grabber, layouts, answer } = open();
    const grabbed = grabber.grab('a', 'u');
    await answer({ status: 'sharded', buckets: 2 });
    const layout = layouts.of('a');
    expect([layout.buckets.length, registry.last.keys]).toEqual([2, layout.buckets[homeOf(layout, 'u')]]);
    await answer(WON);
    expect(await grabbed).toEqual(WON);
    void grabber.grab('a', 'u');
    expect(registry.last.keys).toEqual(layout.buckets[homeOf(layout, 'u')]);
  });

  it('reads their number again, once, if the bucket is unknown', async () => {
    const { registry, grabber, layouts, answer } = open();
    layouts.remember('a', 2);
    const unknown = { status: 'not-open', reason: 'unknown', opensInMs: 0 };
    const grabbed = grabber.grab('a', 'u');
    await answer(unknown);
    expect(registry.last.keys).toMatchObject({ meta: 'p:red-packet:{11}:meta:a' });
    await answer({ status: 'sharded', buckets: 3 });
    expect(layouts.of('a').buckets).toHaveLength(3);
    await answer(unknown);
    expect(await grabbed).toEqual({ status: 'not-open', reason: 'unknown' });
    expect(registry.calls).toHaveLength(3);
  });

  it('is sent again when packets have arrived, as a repeated one', async () => {
    const { registry, grabber, layouts, state, answer } = open();
    layouts.remember('a', 2);
    state.readings = [LEFT, LEFT].map((reading) => ({ ...reading, pooled: 3 }));
    const grabbed = grabber.grab('a', 'u');
    await answer({ status: 'empty' });
    expect(registry.calls).toHaveLength(2);
    expect(registry.last.args.mode).not.toBe(0);
    await answer(WON);
    expect(await grabbed).toEqual(WON);
  });

  it('has lost if all packets are gone', async () => {
    const { grabber, layouts, seen, answer } = open();
    layouts.remember('a', 2);
    const grabbed = grabber.grab('a', 'u');
    await answer({ status: 'empty' });
    expect([await grabbed, seen]).toEqual([{ status: 'sold-out' }, ['remember a']]);
  });

  it('pauses if no packets could be moved, and ends when its time is over', async () => {
    const { registry, grabber, layouts, state, answer } = open({ transferWaitMs: 20 });
    layouts.remember('a', 2);
    state.readings = [LEFT, LEFT];
    const grabbed = grabber.grab('a', 'u');
    await answer({ status: 'empty' });
    expect(registry.calls).toHaveLength(1);
    await time.pass(14);
    expect(registry.calls).toHaveLength(1);
    await time.pass(1);
    expect(registry.calls).toHaveLength(2);
    await answer({ status: 'empty' });
    await time.pass(5);
    expect(registry.calls).toHaveLength(3);
    await answer({ status: 'empty' });
    expect(await stateOf(grabbed)).toEqual({ status: 'try-again', retryAfterMs: 15 });
  });
});

describe('a grab that waits for replicas', () => {
  it('is confirmed only if enough of them have it', async () => {
    for (const [status, replicas, result] of [
      ['won', 2, WON],
      ['won', 1, { status: 'unconfirmed', retryAfterMs: 100 }],
      ['already-won', 1, { status: 'unconfirmed', retryAfterMs: 100 }],
    ] as const) {
      const one = open({ replicas: 2 });
      const grabbed = one.grabber.grab('a', 'u');
      expect([one.registry.last.script.endsWith('and wait'), one.registry.last.options]).toEqual([
        true,
        { replicas: 2, timeoutMs: 30 },
      ]);
      expect(one.registry.last.args.mode).not.toBe(0);
      await one.answer({ result: { ...WON, status }, replicas });
      expect([await grabbed, one.seen]).toEqual([result, status === 'won' ? [RING] : []]);
    }
  });
});
