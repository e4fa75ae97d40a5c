import { deadLetter, retryLater, StreamConsumerEvents } from 'luanest/stream-consumer';
import { InvalidInputError, MOVED } from '../../internal/src';
import type { Delivery } from '../src/consumer/handler-runner';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { pending } from '../../../test/support/replies';
import { openRunner } from './handler-runner-support';

const time = new ManualTime();
const events = new Published(StreamConsumerEvents);
beforeEach(() => {
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  jest.restoreAllMocks();
});
const throwing = (error: unknown) => () => {
  throw error;
};

describe('a message whose handler succeeds', () => {
  it('is acknowledged', () => {
    let payload: unknown;
    const { attempts, start, outcomes, lines, counts, session } = openRunner((message) => {
      ({ payload } = message as Delivery);
    });
    const message = start();
    expect([payload, outcomes, lines, attempts.running]).toEqual([{ a: 1 }, [['commit', '0:1-0']], [], 0]);
    expect([message.decided, session.messages.size, counts.freed > 0]).toEqual([true, 0, true]);
  });

  it('is acknowledged when the promise is fulfilled', async () => {
    const work = pending<void>();
    const { attempts, start, outcomes, counts } = openRunner(() => work.promise);
    start();
    await turn();
    expect([attempts.running, outcomes, counts.freed]).toEqual([1, [], 0]);
    work.resolve();
    await turn();
    expect([attempts.running, outcomes]).toEqual([0, [['commit', '0:1-0']]]);
  });

  it('is acknowledged without a call if it is for another group', () => {
    const { start, outcomes } = openRunner(throwing(new Error('called')));
    start({ attempt: 0 });
    expect(outcomes).toEqual([['commit', '0:1-0']]);
  });

  it('keeps another message of the same entry that the session took later', () => {
    const { runner, session, start } = openRunner(() => new Promise(() => undefined));
    const first = start();
    start();
    runner.putBack(first);
    expect(session.messages.size).toBe(1);
  });

  it('is not handled if its session was lost meanwhile', () => {
    const { attempts, session, start, outcomes } = openRunner(throwing(new Error('called')));
    session.over = true;
    start();
    expect([outcomes, attempts.running, attempts.all]).toEqual([[], 0, []]);
  });

  it('is acknowledged whatever is returned, which is logged once', async () => {
    const mailer = (): unknown => Promise.resolve(5);
    const { start, outcomes, lines } = openRunner(mailer);
    start();
    start();
    await turn();
    expect(outcomes).toHaveLength(2);
    expect(lines).toEqual([
      'warn Stream orders, group mail: mailer returned a number, which is ignored: the message counts as handled. Return nothing, retryLater({ delayMs }) or deadLetter(reason). Logged once.',
    ]);
    const unnamed = openRunner(
      (
        (): (() => unknown) => () =>
          'x'
      )(),
    );
    unnamed.start();
    expect(unnamed.lines[0]).toMatch(/^warn Stream orders, group mail: the handler returned a string/);
  });
});

describe('a message whose handler fails', () => {
  it.each([
    [1, 75],
    [2, 150],
    [8, 750],
  ])('at attempt %i is put back for %i ms', (attempt, delayMs) => {
    const error = new TypeError('secret');
    const { start, outcomes, lines } = openRunner(throwing(error), { attempts: 9 });
    start({ attempt });
    expect(outcomes).toEqual([['retry', '0:1-0', delayMs, true, 'TypeError: secret']]);
    const { stream, group, id } = { stream: 'orders', group: 'mail', id: '0:1-0' };
    expect(events.take()).toEqual([['messageRetried', { stream, group, id, attempt, delayMs, error }]]);
    expect(lines).toEqual([
      `warn Stream orders, group mail: message 0:1-0 failed at attempt ${attempt} of 9: TypeError. The next attempt is due in ${delayMs} ms.`,
    ]);
  });

  it('is put back at once without a backoff', () => {
    const backoff = { delayMs: 0, factor: Infinity, maxDelayMs: 1_000 };
    const { start, outcomes } = openRunner(throwing(new Error('x')), { backoff });
    start({ attempt: 2 });
    expect(outcomes).toEqual([['retry', '0:1-0', 0, true, 'Error: x']]);
  });

  it('is logged at most ten times in a second', () => {
    const { start, lines } = openRunner(throwing(new Error('x')));
    for (let i = 0; i < 12; i++) start();
    expect(lines).toHaveLength(10);
    time.now += 1_000;
    start();
    expect(lines[10]).toMatch(/ due in 75 ms\. 2 other failed attempts were not logged\.$/);
  });

  it('is dead-lettered after its last attempt', async () => {
    const error = new TypeError('secret');
    const { start, outcomes, lines } = openRunner(() => Promise.reject(error));
    start({ attempt: 3 });
    await turn();
    expect(outcomes).toEqual([['bury', '0:1-0', 'TypeError: secret']]);
    const reason = 'TypeError: secret';
    expect(events.take()).toEqual([
      ['messageDeadLettered', { stream: 'orders', group: 'mail', id: '0:1-0', attemptsMade: 3, reason, error }],
    ]);
    expect(lines).toEqual([
      'error Stream orders, group mail: message 0:1-0 is a dead letter after attempt 3 of 3: TypeError. It runs again only if you replay the dead letter.',
    ]);
  });

  it('is dead-lettered without a call if no attempt is left', async () => {
    const { start, outcomes, lines } = openRunner(throwing(new Error('called')));
    start({ attempt: 4 });
    await turn();
    const why =
      'no attempt is left: the consumer died, shut down or lost its lease during the last attempt, or the option attempts was lowered since';
    expect(outcomes).toEqual([['bury', '0:1-0', `Error: ${why}`]]);
    expect(events.take()).toMatchObject([['messageDeadLettered', { attemptsMade: 3, reason: `Error: ${why}` }]]);
    expect(lines).toEqual([
      `error Stream orders, group mail: message 0:1-0 is a dead letter after attempt 3 of 3: ${why}. It runs again only if you replay the dead letter.`,
    ]);
  });

  it('is dead-lettered at once after an error that another attempt would repeat', async () => {
    const malformed = openRunner(() => undefined);
    malformed.start({ payload: '{no' });
    const text =
      'InvalidInputError: The payload of message 0:1-0 is not JSON (3 characters), so no handler was called, and the message is a dead letter. If another program writes to the stream, set the option keys in defineStream(). Otherwise correct the program that wrote it.';
    expect(malformed.outcomes).toEqual([['bury', '0:1-0', text]]);
    const invalid = openRunner(throwing(new InvalidInputError('wrong. Again.', { code: 'INVALID_OUTCOME' })));
    invalid.start();
    expect(invalid.outcomes).toEqual([['bury', '0:1-0', 'InvalidInputError: wrong. Again.']]);
    await turn();
    expect(malformed.lines).toEqual([]);
    expect(invalid.lines).toEqual([
      `error Stream orders, group mail: message 0:1-0 is a dead letter after attempt 1 of 3: ${text.replace(/\.$/, '')}. It runs again only if you replay the dead letter.`,
      'error Stream orders, group mail: message 0:1-0 is a dead letter after attempt 1 of 3: InvalidInputError: wrong. Again. It runs again only if you replay the dead letter.',
    ]);
  });

  it('is logged as a dead letter only if Redis has it, or may have it', async () => {
    const { start, buried, lines } = openRunner(() => deadLetter('no such user'));
    buried.count = 0;
    start();
    await turn();
    expect(lines).toEqual([
      'error Stream orders, group mail: message 0:1-0 is a dead letter, unless it was deleted from the stream, after attempt 1 of 3: the handler gave up with deadLetter(). It runs again only if you replay the dead letter.',
    ]);
    buried.count = undefined;
    start();
    await turn();
    expect(lines).toHaveLength(1);
  });

  it('may fail with an error that cannot be looked at', () => {
    const hostile = new Proxy(new Error('x'), {
      getPrototypeOf: () => {
        throw new Error('hostile');
      },
    });
    const { start, outcomes, lines } = openRunner(throwing(hostile));
    start();
    expect(outcomes).toEqual([
      [
        'retry',
        '0:1-0',
        75,
        true,
        'Error: The handler threw a value that throws when it is read, such as a revoked Proxy. Throw an Error instead.',
      ],
    ]);
    expect(lines).toHaveLength(1);
  });
});

describe('a message whose handler asks for an outcome', () => {
  const asked = 'the handler asked for another attempt';

  it('is put back as the handler asks, and dead-lettered after its last attempt', () => {
    const { start, outcomes, lines } = openRunner(() => retryLater({ delayMs: 70 }));
    start({ attempt: 2 });
    start({ attempt: 3 });
    expect(outcomes).toEqual([
      ['retry', '0:1-0', 70, true, asked],
      ['bury', '0:1-0', asked],
    ]);
    expect(lines).toEqual([]);
  });

  it('is put back without counting', () => {
    const { start, outcomes } = openRunner(throwing(retryLater({ delayMs: 70, countsAsAttempt: false })));
    start({ attempt: 3 });
    expect(outcomes).toEqual([['retry', '0:1-0', 70, false, asked]]);
  });

  it('is dead-lettered for the reason that the handler gives', () => {
    const { start, outcomes } = openRunner(() => deadLetter('no such\nuser'));
    start();
    expect(outcomes).toEqual([['bury', '0:1-0', 'no such user']]);
  });

  it('is put back, and logged as a dead letter, if the handler has moved it to dead letters of its own', () => {
    const { start, outcomes, lines } = openRunner((message) => {
      (message as { [MOVED]: boolean })[MOVED] = true;
      return deadLetter('no such user');
    });
    start();
    expect(outcomes).toEqual([['retry', '0:1-0', 0, false, 'moved to other dead letters']]);
    expect(lines).toEqual([
      'error Stream orders, group mail: message 0:1-0 is a dead letter after attempt 1 of 3: the handler gave up with deadLetter(). It runs again only if you replay the dead letter.',
    ]);
  });
});
