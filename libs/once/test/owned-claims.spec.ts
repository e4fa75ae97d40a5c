import { OnceEvents } from 'luanest/once';
import { Published } from '../../../test/support/published';
import { responseToStore } from '../src/idempotency/stored-response';
import type { Claim } from '../src/once.types';
import { claimed, open, take, WAITS } from './claims-support';

const published = new Published(OnceEvents);

describe('a claim that is owned', () => {
  async function own(isRequest = false, options = {}) {
    const one = take({ ...claimed }, { isRequest, options });
    return { ...one, claim: (await one.taken) as Claim };
  }

  it('is renewed for its own length, or for another one', async () => {
    const { registry, claim } = await own(false, { leaseMs: 500 });
    const renewed = claim.renew();
    expect([registry.last.script, registry.last.args]).toEqual([
      'once.renew',
      { token: 't', leaseMs: 500, operation: expect.any(String) as unknown },
    ]);
    registry.last.reply.resolve({ status: 'renewed', leaseEndsAtMs: 9 });
    expect(await renewed).toEqual({ status: 'renewed', leaseEndsAtMs: 9 });
    const lost = claim.renew({ leaseMs: 70 });
    expect(registry.last.args).toMatchObject({ leaseMs: 70 });
    published.take();
    registry.last.reply.resolve({ status: 'lost', leaseEndsAtMs: 0 });
    expect([await lost, published.take()]).toEqual([{ status: 'lost' }, [['leaseLost', { during: 'renew' }]]]);
  });

  it('is not renewed for a lease that would be over at once', async () => {
    const { registry, claim } = await own();
    const sent = registry.last;
    await expect(claim.renew({ leaseMs: 9 })).rejects.toThrow(
      /^OnceService: leaseMs is 9\. Expected an integer from 10 to /,
    );
    expect(registry.last).toBe(sent);
  });

  it('is confirmed with its result, and the loss of its lease is published', async () => {
    const { registry, claim } = await own();
    published.take();
    const confirmed = claim.confirm({ a: 1 });
    expect([registry.last.script, registry.last.args]).toEqual(['once.confirm', { token: 't', result: '{"a":1}' }]);
    registry.last.reply.resolve({ status: 'confirmed' });
    expect([await confirmed, published.take()]).toEqual([{ status: 'confirmed' }, []]);
    const lost = claim.confirm();
    expect(registry.last.args).toEqual({ token: 't', result: '' });
    registry.last.reply.resolve({ status: 'lost' });
    expect([await lost, published.take()]).toEqual([{ status: 'lost' }, [['leaseLost', { during: 'confirm' }]]]);
  });

  it('is released, and the loss of its lease is published', async () => {
    const { registry, claim } = await own();
    published.take();
    for (const status of ['released', 'lost']) {
      const released = claim.release();
      registry.last.reply.resolve(status);
      expect(await released).toEqual({ status });
    }
    expect(published.take()).toEqual([['leaseLost', { during: 'release' }]]);
  });

  it('is refused a result that is too large or no JSON, as a rejection', async () => {
    const { registry, claim } = await own();
    await expect(claim.confirm('x'.repeat(50))).rejects.toThrow(
      /^OnceModule: The result was not stored, .* has 52 bytes/,
    );
    await expect(claim.confirm(1n)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(claim.confirm({ toJSON: () => { throw new TypeError('own'); } })).rejects.toBeInstanceOf(Error); // prettier-ignore
    expect(registry.scripts).toEqual(['once.claim']);
  });

  it('of a request is confirmed with a response, encoded or not, or without one', async () => {
    const { registry, claim } = await own(true);
    const response = { status: 200, message: undefined, headers: [], body: 'ok' };
    for (const result of [response, responseToStore({ ...response, headers: {} }, {}, 100), undefined])
      void claim.confirm(result);
    const text = '[200,[],"utf8"]\nok';
    expect(registry.calls.slice(1).map(({ args }) => args.result)).toEqual([text, text, '']);
  });

  it.each([5, null, 'text', { status: 200 }])('of a request is refused another result: %p', async (result) => {
    const { claim } = await own(true);
    await expect(claim.confirm(result)).rejects.toThrow(
      'OnceService: The claim is that of a request, but the confirmed result is not a response. Confirm with a StoredResponse: status, headers and body.',
    );
  });

  it('of a request is refused a response that is too large', async () => {
    const { claim } = await own(true);
    const response = { status: 200, message: undefined, headers: [], body: 'é'.repeat(30) };
    await expect(claim.confirm(response)).rejects.toThrow(
      /^OnceModule: The result was not stored, .* has 60 bytes .* At most 40 bytes/,
    );
  });

  it('waits for replicas when it is confirmed', async () => {
    const one = take({ result: claimed, replicas: 2 }, { module: WAITS });
    const claim = (await one.taken) as Claim;
    const outcomes = [];
    for (const [status, replicas] of [
      ['confirmed', 2],
      ['confirmed', 1],
      ['lost', 0],
    ] as const) {
      // prettier-ignore
      const confirmed = claim.confirm().catch((error: unknown) => error);
      expect(one.registry.last.script).toBe('once.confirm and wait');
      one.registry.last.reply.resolve({ result: { status }, replicas });
      outcomes.push(await confirmed);
    }
    expect(outcomes).toEqual([
      { status: 'confirmed' },
      expect.objectContaining({ code: 'NOT_REPLICATED', during: 'confirm', copies: 1, replicas: 2 }),
      { status: 'lost' },
    ]);
  });
});

describe('the keys of an id', () => {
  it('differ by kind', () => {
    const { store } = open();
    expect([store.keyOf('a'), store.keyOf('a', 'handler'), store.keyOf('a', 'request')]).toEqual([
      'p:once:{a}:claim',
      'p:once:{a}:handler',
      'p:once:{a}:request',
    ]);
  });

  it('are used to remember an id and to look at it', async () => {
    const { registry, store } = open();
    const first = store.first('a', 't', 50);
    expect([registry.last.script, registry.last.keys, registry.last.args]).toEqual([
      'once.first',
      { first: 'p:once:{a}:first' },
      { token: 't', retentionMs: 50 },
    ]);
    registry.last.reply.resolve(true);
    expect(await first).toBe(true);
    void store.peek('k');
    expect([registry.last.script, registry.last.keys, registry.last.args]).toEqual(['once.peek', { claim: 'k' }, {}]);
  });
});
