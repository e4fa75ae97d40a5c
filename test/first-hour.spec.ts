// The mistakes of the first hour: each must be explained by one sentence that names what to write.
import { Controller, Get, Injectable, Module, Post, UseGuards, UseInterceptors } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { LockModule } from 'luanest/lock';
import { Idempotent, OnceModule } from 'luanest/once';
import { RateLimit, RateLimitGuard, RateLimitInterceptor, RateLimitModule } from 'luanest/rate-limit';
import { RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage';
import { ReadRewardModule } from 'luanest/read-reward';
import { RedPacketModule } from 'luanest/red-packet';
import { ScheduledLock, ScheduledLockInterceptor, ScheduledLockModule } from 'luanest/scheduled-lock';
import { defineScript, ScriptRegistryModule, SetupError } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';

/** A Redis that nobody runs. */
const url = 'redis://127.0.0.1:1';

/** Boots an app that cannot boot. @returns its error */
async function errorOf(metadata: object): Promise<Error> {
  class App {}
  Module(metadata)(App);
  const booted = Test.createTestingModule({ imports: [App] })
    .setLogger(false as never)
    .compile()
    .then(async (app) => {
      await app.init();
      await app.close();
      throw new Error('The app boots.');
    });
  return booted.then(
    () => new Error('unreachable'),
    (error: unknown) => error as Error,
  );
}

describe('without ScriptRegistryModule', () => {
  const modules = {
    'delayed-task': DelayedTaskModule.forRoot(),
    lock: LockModule.forRoot(),
    once: OnceModule.forRoot(),
    'rate-limit': RateLimitModule.forRoot(),
    'rate-limit.': RateLimitThrottlerStorageModule.forRoot(),
    'read-reward': ReadRewardModule.forRoot({ rules: { article: { limit: 1 } } }),
    'red-packet': RedPacketModule.forRoot({ identity: () => 'u' }),
    'scheduled-lock': ScheduledLockModule.forRoot({ namespace: 'app' }),
    'stream-consumer': StreamConsumerModule.forRoot(),
  };

  it.each(Object.entries(modules))('%s', async (lib, module) => {
    const error = await errorOf({ imports: [module] });
    expect(error).toBeInstanceOf(SetupError);
    expect(error.message).toMatch(
      new RegExp(
        `^ScriptRegistryModule: There is no ScriptRegistry to run ${lib}[.\\w-]* and \\d+ more\\. Add ` +
          `ScriptRegistryModule\\.forRoot\\(\\{ url: 'redis://127\\.0\\.0\\.1:6379' \\}\\) to the imports of the root module\\.$`,
      ),
    );
  });

  it('all of them together', async () => {
    const error = await errorOf({ imports: Object.values(modules) });
    expect(error.message).toMatch(/^ScriptRegistryModule: There is no ScriptRegistry to run /);
  });

  it('one with another name', async () => {
    const imports = [ScriptRegistryModule.forRoot({ url }), LockModule.forRoot({ registry: 'locks' })];
    expect((await errorOf({ imports })).message).toMatch(
      /^ScriptRegistryModule: There is no "locks" ScriptRegistry to run lock\..*forRoot\(\{ name: "locks", url: \.\.\. \}\)/,
    );
  });

  it('scripts of the app', async () => {
    const script = defineScript({
      name: 'stock.buy',
      keys: ['stock'] as const,
      args: {},
      source: 'return 1',
      reply: Number,
    });
    const imports = [ScriptRegistryModule.forFeature([script])];
    expect((await errorOf({ imports })).message).toMatch(/There is no ScriptRegistry to run stock\.buy\. Add /);
  });
});

describe('without a Redis', () => {
  it.each([{}, { url: undefined }])('%p', async (options) => {
    const { message } = await errorOf({ imports: [ScriptRegistryModule.forRoot(options), LockModule.forRoot()] });
    expect(message).toMatch(
      /^ScriptRegistryModule: url, connection and client are undefined\. Set one of them, such as url: 'redis:/,
    );
  });
});

describe('without the module of a guard or an interceptor', () => {
  @Controller()
  @UseGuards(RateLimitGuard)
  class Limited {
    @RateLimit({ limit: 1, windowMs: 1_000 })
    @Get()
    get(): void {}
  }
  @Injectable()
  class OwnGuard extends RateLimitGuard {}
  @Controller()
  @UseGuards(OwnGuard)
  class LimitedByOwn {
    @Get()
    get(): void {}
  }
  @Controller()
  @UseInterceptors(RateLimitInterceptor)
  class Refunded {
    @Get()
    get(): void {}
  }
  @Controller()
  class Repeated {
    @Idempotent()
    @Post()
    post(): void {}
  }
  @Controller()
  class Locked {
    @UseInterceptors(ScheduledLockInterceptor)
    @ScheduledLock({ name: 'report' })
    @Get()
    get(): void {}
  }

  it.each([
    [Limited, 'RateLimitGuard', 'RateLimitModule.forRoot({})'],
    [LimitedByOwn, 'OwnGuard', 'RateLimitModule.forRoot({})'],
    [Refunded, 'RateLimitInterceptor', 'RateLimitModule.forRoot({})'],
    [Repeated, 'IdempotencyInterceptor', 'OnceModule.forRoot({ idempotency: { subject } })'],
    [Locked, 'ScheduledLockInterceptor', 'ScheduledLockModule.forRoot({ namespace })'],
  ])('%p', async (controller, who, forRoot) => {
    const error = await errorOf({ imports: [ScriptRegistryModule.forRoot({ url })], controllers: [controller] });
    expect(error).toBeInstanceOf(SetupError);
    expect(error.message).toBe(
      `${who}: Its module is missing here. Add ${forRoot} to the imports of the root module. Without isGlobal: false, every ` +
        'module can then use it.',
    );
  });
});
