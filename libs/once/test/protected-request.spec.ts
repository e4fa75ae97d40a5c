import { OnceEvents } from 'luanest/once';
import { Subject } from 'rxjs';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { start } from './protected-support';

const time = new ManualTime();
const published = new Published({ resultDropped: OnceEvents.resultDropped, failed: OnceEvents.settlementFailed });

describe('a protected request', () => {
  it('confirms its key with the response, and sends the response after that', async () => {
    const one = start();
    const handler = new Subject();
    one.run(handler);
    handler.next('value');
    handler.complete();
    one.response.end('body');
    expect([one.seen, one.settled, one.sent]).toEqual([['value', 'end'], [['confirm', 'body']], []]); // prettier-ignore
    expect(one.request.claim.open).toBe(true);
    one.replies[0]?.resolve({ status: 'confirmed' });
    await turn();
    expect([one.sent, one.request.claim.open, published.take()]).toEqual([['body'], false, []]);
  });

  it('whose lease is over is settled when its client leaves without the whole response', async () => {
    const one = start();
    const handler = new Subject();
    one.run(handler);
    handler.next('value');
    await time.pass(7_000);
    const renewals = one.settled.length;
    expect([one.request.claim.over, one.request.claim.open]).toEqual([true, true]);
    one.raw.destroyed = true;
    await time.pass(200);
    expect(one.settled.slice(renewals)).toEqual([['confirm', undefined]]);
    one.replies.at(-1)?.resolve({ status: 'confirmed' });
    await turn();
    expect([one.request.claim.open, published.take().length, time.running]).toEqual([false, 1, []]);
  });

  it('sends its response also if Redis fails, and publishes the error', async () => {
    const one = start();
    one.run(new Subject());
    one.response.end('body');
    one.replies[0]?.reject('down');
    await turn();
    expect([one.sent, one.request.claim.open]).toEqual([['body'], false]);
    expect(published.take()).toEqual([['failed', { error: 'down' }]]);
  });

  it('sends its response also if the claim throws', () => {
    const one = start();
    Object.assign(one.request.claim.claimed.claim, { confirm: () => { throw new Error('no method'); } }); // prettier-ignore
    one.run(new Subject());
    one.response.end('body');
    expect([one.sent, one.request.claim.open]).toEqual([['body'], false]);
    expect(published.take()).toEqual([['failed', { error: new Error('no method') }]]);
  });

  it.each<[string, number, boolean, Parameters<typeof start>[0], [string, unknown]]>([
    ['an error is not stored, and the key is free', 500, false, {}, ['release', undefined]],
    ['a thrown error with any status frees the key', 404, true, {}, ['release', undefined]],
    ['a status of 499 without an error is stored', 499, false, {}, ['confirm', 'body']],
    ['an error is stored if the route stores errors', 500, false, { storeErrors: true }, ['confirm', 'body']],
    [
      'an error keeps the key without a response if it runs at most once',
      500,
      false,
      { delivery: 'at-most-once' },
      ['confirm', undefined],
    ],
    [
      'an error is stored at most once',
      500,
      true,
      { delivery: 'at-most-once', storeErrors: true },
      ['confirm', 'body'],
    ],
  ])('ends its claim: %s', (_, status, throws, route, expected) => {
    const one = start(route);
    const handler = new Subject();
    one.run(handler);
    if (throws) handler.error(new Error('thrown'));
    one.raw.statusCode = status;
    one.response.end('body');
    expect(one.settled).toEqual([expected]);
    expect(one.seen).toEqual(throws ? ['thrown'] : []);
    expect(published.take()).toEqual([]);
  });

  it.each<[string, string, (one: ReturnType<typeof start>) => void]>([
    ['too large', 'too-large', (one) => one.response.end('x'.repeat(101))],
    ['sent in pieces', 'streamed', (one) => { one.response.write('a'); one.response.end('b'); }], // prettier-ignore
  ])('keeps its key without a response that is %s', (_, reason, send) => {
    const one = start();
    one.run(new Subject());
    send(one);
    expect(one.settled).toEqual([['confirm', undefined]]);
    expect(published.take()).toEqual([['resultDropped', { reason }]]);
  });

  it('is settled once', () => {
    const one = start();
    one.run(new Subject());
    one.response.end('body');
    const send = jest.fn();
    one.request.ending(undefined, send);
    expect([one.settled.length, send.mock.calls.length]).toEqual([1, 1]);
  });

  it('stores responses of as many bytes as its route allows', () => {
    expect(start({ maxStoredBytes: 7 }).request.maxStoredBytes).toBe(7);
  });
});
