import { deadLetter } from 'luanest/stream-consumer';
import type { ScriptRegistry } from 'luanest/script-registry';
import { openBench as openTasks } from '../libs/delayed-task/test/support';
import { openBench as openOnce } from '../libs/once/test/support';
import { openBench as openLimits } from '../libs/rate-limit/test/support';
import { figures, openBench as openPackets, packetOf } from '../libs/red-packet/test/support';
import { standaloneClient } from '../libs/script-registry/test/support';
import { openBench as openStreams } from '../libs/stream-consumer/test/support';
import { closeAfter } from './support/closing-registry';
import { eventually } from './support/wait';

/** An operation, and what makes the same operation for another process. */
interface Operation {
  readonly registry: ScriptRegistry;
  readonly run: () => Promise<unknown>;
  readonly again?: () => Promise<unknown>;
}

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function closed<T extends { close(): unknown }>(bench: T): T {
  closing.push(() => bench.close());
  return bench;
}

/** Operations on a new activity with two buckets, which have made and won packets. */
const onActivity =
  (operate: (packets: Awaited<ReturnType<typeof openPackets>>['packets'], packetId: string) => Promise<unknown>) =>
  async (): Promise<Operation> => {
    const bench = closed(await openPackets(standaloneClient()));
    const other = closed(await openPackets(standaloneClient(), { prefix: bench.prefix }));
    await bench.packets.create({ ...figures('a', 4), buckets: 2 });
    const { packetId } = packetOf(await bench.packets.grab('a', 'u'));
    return {
      registry: bench.registry,
      run: () => operate(bench.packets, packetId),
      again: () => operate(other.packets, packetId),
    };
  };

const closedActivity = async (): Promise<Operation> => {
  const bench = closed(await openPackets(standaloneClient()));
  const other = closed(await openPackets(standaloneClient(), { prefix: bench.prefix }));
  await other.packets.create({ ...figures('a', 4), buckets: 2 });
  await other.packets.grab('a', 'u');
  await other.packets.close('a');
  const { registry, packets } = bench;
  return { registry, run: () => packets.forget('a'), again: () => other.packets.forget('a') };
};

const create = async (): Promise<Operation> => {
  const bench = closed(await openPackets(standaloneClient()));
  const other = closed(await openPackets(standaloneClient(), { prefix: bench.prefix }));
  const activity = { ...figures('a', 4), buckets: 2 };
  return {
    registry: bench.registry,
    run: () => bench.packets.create(activity),
    again: () => other.packets.create(activity),
  };
};

/** Operations on a stream with dead letters in two partitions. */
const onDeadLetters =
  (operate: (streams: Awaited<ReturnType<typeof openStreams>>['streams'], ids: string[]) => Promise<unknown>) =>
  async (): Promise<Operation> => {
    const stream = 'halfway';
    const bench = closed(await openStreams(standaloneClient(), { partitions: 2 }));
    const other = closed(await openStreams(standaloneClient(), { partitions: 2 }, { prefix: bench.prefix }));
    const consumer = await other.streams.handle({ stream, group: 'g' }, () => deadLetter('no'));
    await other.streams.publishMany(
      stream,
      Array.from({ length: 16 }, (_, i) => ({ payload: i, key: `k${i}` })),
    );
    await eventually(async () => expect((await other.streams.stats(stream, 'g')).dead).toBe(16));
    await consumer.stop();
    const ids = (await other.streams.deadLetters(stream, 'g')).items.map(({ id }) => id);
    expect(new Set(ids.map((id) => id.split(':')[0])).size).toBe(2);
    return {
      registry: bench.registry,
      run: () => operate(bench.streams, ids),
      again: () => operate(other.streams, ids),
    };
  };

const consume = async (): Promise<Operation> => {
  const bench = closed(await openStreams(standaloneClient(), { partitions: 2 }));
  return { registry: bench.registry, run: () => bench.streams.handle({ stream: 's', group: 'g' }, () => undefined) };
};

/** Operations on a queue with a dead letter in each of two partitions. */
const onTasks =
  (operate: (tasks: Awaited<ReturnType<typeof openTasks>>['tasks']) => Promise<unknown>) =>
  async (): Promise<Operation> => {
    const bench = closed(await openTasks(standaloneClient(), { partitions: 2, work: false }));
    const other = closed(await openTasks(standaloneClient(), { partitions: 2, work: false }, { prefix: bench.prefix }));
    for (const [i, { tasks, runs, dead }] of bench.partitions.entries()) {
      await other.raw.hset(tasks, `d${i}`, '3\n0\n-\nmail\n{}');
      await other.raw.hset(runs, `d${i}`, '3 d t 1 1 0 Error: no');
      await other.raw.zadd(dead, 1, `d${i}`);
    }
    return { registry: bench.registry, run: () => operate(bench.tasks), again: () => operate(other.tasks) };
  };

/** Dead letters that the first partition did not have. */
const rest = expect.any(Number) as unknown;

const many = Array.from({ length: 40 }, (_, i) => ({ name: 'mail', id: `t${i}`, delayMs: 3_600_000 }));

const refund = async (): Promise<Operation> => {
  const rules = [{ name: 'all', limit: 9, windowMs: 3_600_000, algorithm: 'sliding-log' as const }];
  const { registry, service } = closed(await openLimits(standaloneClient(), { rules }, { tags: 64 }));
  const [rule] = rules;
  const decision = await service.consume(['a', 'b', 'c'].map((subject) => ({ rule: rule as never, subject })));
  return { registry, run: () => service.refund(decision) };
};

const runOnce = async (): Promise<Operation> => {
  const { registry, once } = closed(await openOnce(standaloneClient()));
  return { registry, run: () => once.run('id', {}, () => 'done') };
};

describe('an operation that fails between two of its calls to Redis', () => {
  it.each<[name: string, script: string, runs: number, make: () => Promise<Operation>, second: unknown]>([
    ['RedPacketService.pause', 'red-packet.set-pause', 1, onActivity((packets) => packets.pause('a')), 'paused'],
    ['RedPacketService.pause', 'red-packet.set-pause', 2, onActivity((packets) => packets.pause('a')), 'paused'],
    ['RedPacketService.resume', 'red-packet.set-pause', 1, onActivity((packets) => packets.resume('a')), 'open'],
    [
      'RedPacketService.close',
      'red-packet.close-activity',
      1,
      onActivity((packets) => packets.close('a')),
      expect.objectContaining({ refundedPackets: 3 }),
    ],
    [
      'RedPacketService.close',
      'red-packet.close-activity',
      2,
      onActivity((packets) => packets.close('a')),
      expect.objectContaining({ refundedPackets: 3 }),
    ],
    [
      'RedPacketService.create',
      'red-packet.add-activity',
      1,
      create,
      expect.objectContaining({ packets: 4, created: true }),
    ],
    [
      'RedPacketService.create',
      'red-packet.fill-pool',
      1,
      create,
      expect.objectContaining({ packets: 4, created: true }),
    ],
    ['RedPacketService.forget', 'red-packet.settle-bucket', 1, closedActivity, true],
    [
      'RedPacketService.conflict',
      'red-packet.void-grant',
      1,
      onActivity((packets, packetId) => packets.conflict('a', { userId: 'u', packetId })),
      expect.objectContaining({ voided: true }),
    ],
    [
      'StreamConsumerService.replay',
      'stream-consumer.replay-dead',
      1,
      onDeadLetters((s, ids) => s.replay('halfway', 'g', ids)),
      rest,
    ],
    [
      'StreamConsumerService.drop',
      'stream-consumer.drop-dead',
      1,
      onDeadLetters((s, ids) => s.drop('halfway', 'g', ids)),
      rest,
    ],
    [
      'StreamConsumerService.replayAll',
      'stream-consumer.replay-dead',
      1,
      onDeadLetters((s) => s.replayAll('halfway', 'g')),
      rest,
    ],
    [
      'StreamConsumerService.dropAll',
      'stream-consumer.drop-dead',
      1,
      onDeadLetters((s) => s.dropAll('halfway', 'g')),
      rest,
    ],
    [
      'StreamConsumerService.replayRange',
      'stream-consumer.replay-range',
      1,
      onDeadLetters((s) => s.replayRange('halfway', 'g', { fromAtMs: 0, operationId: 'o' })),
      0,
    ],
    [
      'StreamConsumerService.removeGroup',
      'stream-consumer.withdraw',
      1,
      onDeadLetters((s) => s.removeGroup('halfway', 'g')),
      true,
    ],
    ['StreamConsumerService.handle', 'stream-consumer.open', 1, consume, undefined],
    ['DelayedTaskService.replayAll', 'delayed-task.clear-dead', 1, onTasks((tasks) => tasks.replayAll()), 1],
    ['DelayedTaskService.dropAll', 'delayed-task.clear-dead', 1, onTasks((tasks) => tasks.dropAll()), 1],
    [
      'DelayedTaskService.scheduleMany',
      'delayed-task.schedule',
      1,
      onTasks((tasks) => tasks.scheduleMany(many)),
      expect.arrayContaining([
        expect.objectContaining({ status: 'kept' }),
        expect.objectContaining({ status: 'scheduled' }),
      ]),
    ],
    ['RateLimitService.refund', 'rate-limit.refund', 1, refund, undefined],
    ['OnceService.run', 'once.claim', 1, runOnce, undefined],
  ])(
    '%s, after %s ran %i times: its outcome is unknown, and a second call completes it',
    async (name, script, runs, make, second) => {
      const { registry, run, again } = await make();
      closeAfter(registry, script, runs);
      const error: unknown = await run().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'UNKNOWN_OUTCOME', cause: { code: 'NOT_SENT' } });
      expect((error as Error).message).toContain(name);
      if (again) expect(await again()).toEqual(second);
      await again?.();
      // Now the registry is closed, so no call of the operation is sent.
      if (name !== 'RateLimitService.refund') await expect(run()).rejects.toMatchObject({ code: 'NOT_SENT' });
    },
  );
});
