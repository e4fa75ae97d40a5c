import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { figures, openBench, QUICK, type Bench } from './support';

Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));

describe('a payout of a later activity with the same id', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(standaloneClient());
  });
  afterEach(() => bench.close());

  it('has all its attempts when the payout run finds the later activity', async () => {
    const { packets, payouts, raw } = bench;
    const ended: string[] = [];
    const retried = (): void => void ended.push('retried');
    const died = (): void => void ended.push('dead');
    subscribe('luanest:stream-consumer:message.retried', retried);
    subscribe('luanest:stream-consumer:message.dead-lettered', died);
    await packets.create(figures('a', 2));
    const { outbox, meta } = bench.keysOf('a');
    const laterMs = (await packets.status('a'))?.expiresAtMs as number;
    const paid: string[] = [];
    const run = payouts.run(({ userId, attempt }) => void paid.push(`${userId} at attempt ${attempt}`), {
      ...QUICK,
      attempts: 2,
    });
    // The payout comes before the run has found the later activity, whose retention ends later.
    await raw.xadd(outbox, '*', 'user', 'u', 'packet', '1', 'cents', '100', 'at', String(laterMs));
    await eventually(() => expect(ended.length).toBeGreaterThanOrEqual(2));
    await raw.hset(meta, 'expiresAtMs', String(laterMs + 60_000));
    await eventually(() => expect([paid.length, ended.includes('dead')]).not.toEqual([0, false]));
    unsubscribe('luanest:stream-consumer:message.retried', retried);
    unsubscribe('luanest:stream-consumer:message.dead-lettered', died);
    await run.stop();
    expect([paid, ended.includes('dead')]).toEqual([['u at attempt 1'], false]);
  });
});
