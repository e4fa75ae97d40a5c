import { OnceEvents } from 'luanest/once';
import { Observable, Subject } from 'rxjs';
import { ManualTime } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { start } from './protected-support';

const time = new ManualTime();
const published = new Published({ resultDropped: OnceEvents.resultDropped, failed: OnceEvents.settlementFailed });

describe('a handler whose subscriber leaves', () => {
  it('runs on to its end, and then its key is kept without a response', () => {
    const one = start();
    const handler = new Subject();
    one.run(handler);
    one.leave();
    expect(handler.observed).toBe(true);
    one.response.end('timeout');
    expect([one.sent, one.settled]).toEqual([['timeout'], []]);
    handler.complete();
    expect(one.settled).toEqual([['confirm', undefined]]);
    expect(published.take()).toEqual([['resultDropped', { reason: 'abandoned' }]]);
  });

  it('frees the key if it throws', () => {
    const one = start();
    const handler = new Subject();
    one.run(handler);
    one.leave();
    handler.error(new Error('late'));
    expect([one.settled, one.seen]).toEqual([[['release', undefined]], []]); // prettier-ignore
  });

  it('ends if it has returned a value, or has sent a part of the response', () => {
    const answered = start();
    const first = new Subject();
    answered.run(first);
    first.next(1);
    answered.leave();
    expect(first.observed).toBe(false);
    const streamed = start();
    const second = new Subject();
    streamed.run(second);
    streamed.response.write('a');
    streamed.leave();
    expect(second.observed).toBe(false);
  });

  it('counts only in its last run', () => {
    const one = start();
    const [first, second] = [new Subject(), new Subject()];
    one.run(first);
    one.leave();
    one.run(second);
    first.error(new Error('of the first'));
    expect(one.settled).toEqual([]);
    first.next('x');
    second.next('value');
    one.response.end('body');
    expect([one.seen, one.settled]).toEqual([['value'], [['confirm', 'body']]]); // prettier-ignore
  });

  it('of an earlier run ends when its subscriber leaves', () => {
    const one = start();
    const [first, second] = [new Subject(), new Subject()];
    const subscription = new Observable((subscriber) =>
      one.request.run({ handle: () => first }, subscriber),
    ).subscribe();
    one.run(second);
    subscription.unsubscribe();
    expect([first.observed, second.observed]).toEqual([false, true]);
    second.complete();
    one.response.end('body');
    expect(one.settled).toEqual([['confirm', 'body']]);
  });

  it('of a value of an earlier run does not count as an answer', () => {
    const one = start();
    const [first, second] = [new Subject(), new Subject()];
    one.run(first);
    one.run(second);
    first.next('early');
    one.leave();
    expect(second.observed).toBe(true);
  });
});

describe('a client that leaves', () => {
  it.each<[string, boolean, [string, unknown][]]>([
    ['after the handler has ended: the key is kept without a response', false, [['confirm', undefined]]],
    ['after the handler has thrown: the key is free', true, [['release', undefined]]],
  ])('%s', async (_, throws, expected) => {
    const one = start();
    const handler = new Subject();
    one.run(handler);
    if (throws) handler.error(new Error('x'));
    else handler.complete();
    one.raw.destroyed = true;
    await time.pass(200);
    expect(one.settled).toEqual(expected);
    expect(published.take()).toEqual(throws ? [] : [['resultDropped', { reason: 'streamed' }]]);
  });

  it('before the handler has ended leaves the lease to be renewed', async () => {
    const one = start();
    one.run(new Subject());
    one.raw.destroyed = true;
    await time.pass(200);
    expect(one.settled).toEqual([['renew', undefined]]);
  });

  it('not yet leaves the lease to be renewed, too', async () => {
    const one = start();
    const handler = new Subject();
    one.run(handler);
    handler.complete();
    await time.pass(200);
    expect(one.settled).toEqual([['renew', undefined]]);
  });
});
