import { Logger } from '@nestjs/common';
import { StreamConsumerEvents } from 'luanest/stream-consumer';
import { Calls } from '../../worker/src';
import { LEASE_LOST } from '../src/consumer/session';
import { Settler, type Step } from '../src/consumer/session';
import { events as published } from '../src/stream-consumer.events';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';
import { messageOf, sessionOf } from './taken-messages';

describe('outcomes of messages', () => {
  const time = new ManualTime();
  const events = new Published(StreamConsumerEvents);

  afterEach(() => {
    jest.restoreAllMocks();
  });

  function open({ ordered = false } = {}) {
    jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    const calls = new Calls<Step>((during, error) =>
      published.callFailed.publish(() => ({ stream: 'orders', group: 'mail', during, error })),
    );
    const registry = new FakeRegistry();
    const session = sessionOf();
    const log: unknown[] = [];
    const note =
      (name: string) =>
      (...args: unknown[]): void =>
        void log.push([name, ...args]);
    const names = ['stream', 'sessions', 'due', 'tries', 'dead', 'heads', 'woken', 'unsettled'];
    const reader = {
      keys: Object.fromEntries(names.map((name) => [name, `key of ${name}`])),
      origin: { stream: 'orders', group: 'mail', idPrefix: '0:', isOrdered: ordered },
      session,
      calls,
      wakeup: { within: note('within'), ring: note('ring') },
      changed: note('changed'),
      lose: note('lose'),
    };
    const options = { group: 'mail', ordered, attempts: 3 };
    const settler = new Settler(registry.asRegistry, options as never, reader as never, () => ({
      needs: 'billing',
      needed: ['key of billing'],
    }));
    const message = (id: string, attempt = 1, key = '') => messageOf(settler, { id, attempt, key }, { session });
    const commit = (count: number, from = 0): void => {
      for (let i = from; i < from + count; i++) settler.commit(message(`${i}-0`));
    };
    const answer = async (reply: unknown): Promise<void> => {
      registry.last.reply.resolve(reply);
      await turn();
    };
    return { registry, session, calls, log, settler, message, commit, answer };
  }
  const keysOf = (...names: string[]) => Object.fromEntries(names.map((name) => [name, `key of ${name}`]));

  it('are acknowledged together, and published when Redis has them', async () => {
    const { registry, session, log, settler, commit, answer } = open();
    commit(2);
    expect([settler.idle, registry.calls]).toEqual([false, []]);
    settler.flush();
    expect(registry.calls).toMatchObject([
      {
        script: 'stream-consumer.ack',
        keys: { ...keysOf('stream', 'sessions', 'tries', 'unsettled'), needed: ['key of billing'] },
      },
    ]);
    expect(registry.last.args).toEqual({
      ...{ group: 'mail', session: session.name, needs: 'billing', ids: ['0-0', '1-0'] },
    });
    expect([settler.idle, session.beingSettled.size]).toEqual([false, 1]);
    await answer(true);
    expect([settler.idle, session.beingSettled.size, log]).toEqual([true, 0, [['changed']]]);
    expect(events.take()).toEqual([['messagesHandled', { stream: 'orders', group: 'mail', ids: ['0:0-0', '0:1-0'] }]]);
    settler.flush();
    expect(registry.calls).toHaveLength(1);
  });

  it('are sent up to 128 in a call, and in two calls at a time', async () => {
    const { registry, settler, commit, answer } = open();
    commit(300);
    settler.flush();
    const sizes = (): number[] => registry.calls.map(({ args }) => (args.ids as string[]).length);
    expect(sizes()).toEqual([128, 128]);
    await answer(true);
    expect(sizes()).toEqual([128, 128, 44]);
    await answer(true);
    expect(settler.idle).toBe(false);
    registry.calls[0]?.reply.resolve(true);
    await turn();
    expect(settler.idle).toBe(true);
  });

  it('are behind if more than 1,024 acknowledgements wait', () => {
    const { settler, commit } = open();
    commit(1_024);
    expect(settler.behind).toBe(false);
    commit(1, 1_024);
    expect(settler.behind).toBe(true);
  });

  it('of an ordered group release the next messages of their keys', async () => {
    const { registry, session, log, settler, message, answer } = open({ ordered: true });
    settler.commit(message('1-0', 2, 'k'));
    settler.flush();
    expect(registry.calls).toMatchObject([
      {
        script: 'stream-consumer.finish',
        keys: {
          ...keysOf('stream', 'sessions', 'due', 'tries', 'dead', 'heads', 'unsettled'),
          needed: ['key of billing'],
        },
        args: { group: 'mail', session: session.name, needs: 'billing', rows: ['1-0', 'k', '', '2', '5'] },
      },
    ]);
    await answer({ alive: true, released: 1, buried: 0 });
    expect(log).toEqual([['ring'], ['changed']]);
    expect(events.take()).toMatchObject([['messagesHandled', { ids: ['0:1-0'] }]]);
    settler.commit(message('2-0'));
    settler.flush();
    await answer({ alive: true, released: 0, buried: 0 });
    expect(log.slice(2)).toEqual([['changed']]);
  });

  it('are dead letters with the number of attempts that are allowed', async () => {
    const { registry, log, settler, message, answer } = open();
    const burying = settler.bury(message('1-0', 4), 'Error: broken');
    expect(registry.last).toMatchObject({
      script: 'stream-consumer.finish',
      args: { rows: ['1-0', '', 'Error: broken', '3', '5'] },
    });
    await answer({ alive: true, released: 0, buried: 1 });
    expect([await stateOf(burying), log]).toEqual([1, []]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('are put back, and taken again when they are due (counted: %s)', async (counted, sent) => {
    const { registry, session, log, settler, message, answer } = open();
    const retrying = settler.retry(message('1-0', 2), 70, counted, 'Error: broken');
    expect(registry.calls).toMatchObject([
      {
        script: 'stream-consumer.retry',
        keys: keysOf('stream', 'sessions', 'due', 'tries', 'woken', 'unsettled'),
      },
    ]);
    expect(registry.last.args).toEqual({
      ...{ group: 'mail', session: session.name, id: '1-0', attempt: 2, returned: 0, firstSeenMs: 5 },
      ...{ counted: sent, delayMs: 70, problem: 'Error: broken' },
    });
    await answer(true);
    expect([await stateOf(retrying), log]).toEqual([undefined, [['within', 70]]]);
  });

  it('of a session that was taken over are lost', async () => {
    for (const ordered of [false, true]) {
      const { session, log, settler, message, commit, answer } = open({ ordered });
      commit(1);
      settler.flush();
      await answer(ordered ? { alive: false, released: 0, buried: 0 } : false);
      expect(log).toMatchObject([['lose', session, LEASE_LOST, [{ id: '0:0-0' }]], ['changed']]);
      log.splice(0);
      void settler.retry(message('1-0'), 70, true, 'Error: broken');
      await answer(false);
      const burying = settler.bury(message('2-0'), 'Error: broken');
      await answer({ alive: false, released: 0, buried: 1 });
      expect(await stateOf(burying)).toBeUndefined();
      expect(log.map((one) => (one as string[])[0])).toEqual(['lose', 'lose']);
      expect(events.take()).toEqual([]);
    }
    expect(LEASE_LOST).toBe('another consumer took over its lease, Redis lost the lease, or the group was deleted');
  });

  it('are sent again until Redis replies, the session is lost or the consumer stops', async () => {
    const { registry, session, log, settler, commit } = open();
    commit(1);
    settler.flush();
    const error = new Error('no reply');
    registry.last.reply.reject(error);
    await turn();
    const failed = ['callFailed', { stream: 'orders', group: 'mail', during: 'settle', error }];
    expect([events.take(), session.beingSettled.size]).toEqual([[failed], 1]);
    await time.pass(20);
    expect(registry.calls).toHaveLength(2);
    session.over = true;
    registry.last.reply.reject(error);
    await turn();
    expect(log).toMatchObject([['lose', session, LEASE_LOST, [{ id: '0:0-0' }]], ['changed']]);
  });

  it('are neither sent nor lost after the consumer stopped', async () => {
    const { registry, calls, log, settler, message } = open();
    const burying = settler.bury(message('1-0'), 'Error: broken');
    calls.stop();
    registry.last.reply.reject(new Error('no reply'));
    await turn();
    expect([await stateOf(burying), log, registry.calls.length]).toEqual([undefined, [], 1]);
  });
});
