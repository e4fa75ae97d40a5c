import { type StreamMessage, StreamConsumerService } from 'luanest/stream-consumer';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, stateOf } from '../../../test/support/replies';

describe('a consumer', () => {
  const time = new ManualTime();
  const entry = { id: '1-0', payload: '{}', key: '', operation: '', attempt: 1, returned: 0, firstSeenMs: 5 };
  const taken = { state: 'taken', more: false, blocked: false, dueInMs: Infinity, endInMs: Infinity, entries: [entry] };

  /** Starts a consumer, whose first take is in flight then. */
  async function open(handler: (message: StreamMessage) => unknown) {
    const registry = new FakeRegistry();
    const service = new StreamConsumerService(registry.asRegistry);
    const starting = service.handle({ stream: 'orders', group: 'mail', leaseMs: 3_000 }, handler as never);
    for (const reply of [{ partitions: 1, paused: [], groups: ['mail'] }, ['mail'], { state: 'made', from: '0-0' }]) {
      await turn();
      registry.last.reply.resolve(reply);
    }
    const consumer = await starting;
    await turn();
    expect(registry.last.script).toBe('stream-consumer.take');
    return { registry, consumer };
  }

  it('counts its lease from when a take was sent, not from its reply', async () => {
    let signal: AbortSignal | undefined;
    const { registry } = await open((message) => {
      ({ signal } = message);
      return new Promise(() => undefined);
    });
    await time.pass(1_000);
    registry.last.reply.resolve(taken);
    while (signal === undefined) await turn();
    // The renewal, which is due at once, gets no reply.
    await time.pass(1_998);
    expect(signal?.aborted).toBe(false);
    await time.pass(1);
    expect(signal?.aborted).toBe(true);
  });

  it('that stops ends its lease only when Redis has the last outcomes', async () => {
    const work = pending<void>();
    const { registry, consumer } = await open(() => work.promise);
    registry.last.reply.resolve(taken);
    await turn();
    const stopped = consumer.stop();
    work.resolve();
    await turn();
    expect(registry.scripts.slice(-2)).toEqual(['stream-consumer.take', 'stream-consumer.ack']);
    const acknowledged = registry.last.reply;
    expect(await stateOf(stopped)).toBe('pending');
    acknowledged.resolve(true);
    await turn();
    expect(registry.last.script).toBe('stream-consumer.leave');
    registry.last.reply.resolve(undefined);
    expect(await stateOf(stopped)).toBeUndefined();
  });

  it('that stops puts back the messages of a take in flight, at once and uncounted, and no handler begins', async () => {
    const handler = jest.fn();
    const { registry, consumer } = await open(handler);
    const stopped = consumer.stop();
    registry.last.reply.resolve(taken);
    await turn();
    expect([registry.last.script, registry.last.args]).toEqual([
      'stream-consumer.retry',
      expect.objectContaining({ id: '1-0', attempt: 1, counted: 0, delayMs: 0 }),
    ]);
    expect(await stateOf(stopped)).toBe('pending');
    registry.last.reply.resolve(true);
    await turn();
    expect(registry.last.script).toBe('stream-consumer.leave');
    registry.last.reply.resolve(undefined);
    expect(await stateOf(stopped)).toBeUndefined();
    expect(handler).not.toHaveBeenCalled();
  });
});
