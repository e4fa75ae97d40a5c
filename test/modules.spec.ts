import { Inject, Module, type DynamicModule, type Type } from '@nestjs/common';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { OutboxModule, OutboxService } from 'luanest/outbox';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { boot, closeAll } from './support/every-option';

afterEach(closeAll);

interface AnyModule {
  forRoot(options: object): DynamicModule;
}
const rules = { article: { limit: 1, pointsPerItem: 1, timeZone: 'UTC' } };
const redPacket = { identity: () => 'u', adminGuard: { canActivate: () => true } };

const modules: [module: unknown, service: Type, needed: object][] = [
  [DelayedTaskModule, DelayedTaskService as never, {}],
  [LockModule, LockService as never, {}],
  [OnceModule, OnceService as never, {}],
  [RateLimitModule, RateLimitService as never, {}],
  [ReadRewardModule, ReadRewardService as never, { rules }],
  [RedPacketModule, RedPacketService as never, redPacket],
  [ScheduledLockModule, ScheduledLockService as never, { namespace: 'app' }],
  [StreamConsumerModule, StreamConsumerService as never, {}],
  [OutboxModule, OutboxService as never, { database: { transaction: () => undefined }, relay: false }],
];

describe.each(modules.map((row) => [(row[0] as Type).name, ...row] as const))('%s', (name, module, service, needed) => {
  const { forRoot } = { forRoot: (options: object) => (module as AnyModule).forRoot({ ...needed, ...options }) };

  // An outbox needs one of the modules that it sends to.
  const others = module === OutboxModule ? [DelayedTaskModule.forRoot()] : [];

  /** A module of the app that injects the service, and imports nothing. */
  function feature(): Type {
    class Uses {
      constructor(readonly service: unknown) {}
    }
    Inject(service)(Uses, undefined, 0);
    class Feature {}
    Module({ providers: [Uses] })(Feature);
    return Feature;
  }

  it('is global unless isGlobal is false', async () => {
    await boot({ imports: [...others, forRoot({}), feature()] });
    await expect(boot({ imports: [...others, forRoot({ isGlobal: false }), feature()] })).rejects.toThrow(
      /can't resolve/i,
    );
  });

  it('refuses a second forRoot', async () => {
    const message = expect.stringMatching(
      new RegExp(
        `^${name}: forRoot\\(\\) or forRootAsync\\(\\) is imported 2 times\\. Import it once, in the root module`,
      ),
    ) as string;
    await expect(boot({ imports: [...others, forRoot({}), forRoot({})] })).rejects.toMatchObject({ message });
  });
});
