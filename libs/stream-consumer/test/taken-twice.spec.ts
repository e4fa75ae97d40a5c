import type { StreamMessage } from 'luanest/stream-consumer';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { group, openBench } from './support';

it('a message that a session takes twice, after a failover, is held until its second handler ends', async () => {
  const bench = await openBench(standaloneClient(), { drainMs: 0, abortGraceMs: 0 });
  const [first, second] = [new Gate(), new Gate()];
  const messages: StreamMessage[] = [];
  await bench.streams.handle(group('twice', 'g', { concurrency: 3, leaseMs: 600_000 }), (message) => {
    messages.push(message);
    return (messages.length === 1 ? first : second).pass();
  });
  await bench.streams.publish('twice', 'p');
  await eventually(() => expect(first.entered).toBe(1));
  // As a replica that had not received the take.
  const { stream, sessions, woken } = bench.keys('twice', 'g');
  await bench.raw.xack(stream, 'g', String(messages[0]?.id.slice(2)));
  await bench.raw.xgroup('SETID', stream, 'g', '0');
  await bench.streams.publish('twice', 'q');
  await eventually(() => expect(second.entered).toBe(2));
  const again = messages.slice(1).find(({ payload }) => payload === 'p');
  expect([again?.id, again?.signal.aborted]).toEqual([messages[0]?.id, false]);
  first.open();
  await eventually(async () => expect(await bench.raw.xpending(stream, 'g', '-', '+', 10)).toHaveLength(1));
  // Another consumer takes the session over, which the next take for the free slot finds out.
  const [session = ''] = await bench.raw.zrange(sessions, '0', '-1');
  await bench.raw.zadd(sessions, '0', session);
  await bench.raw.spublish(woken, 'taken over');
  await eventually(() => expect(again?.signal.aborted).toBe(true));
  second.open();
  await bench.close();
});
