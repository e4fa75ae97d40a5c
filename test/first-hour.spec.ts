// The mistakes of the first hour: each must be explained by one sentence that names what to write.
import { createServer, type AddressInfo, type Socket } from 'node:net';
import {
  Controller,
  type DynamicModule,
  Get,
  Injectable,
  Logger,
  Module,
  type ModuleMetadata,
  Post,
  Put,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DelayedTask, DelayedTaskModule } from 'luanest/delayed-task';
import { LockModule } from 'luanest/lock';
import { Idempotent, OnceModule } from 'luanest/once';
import { RateLimit, RateLimitGuard, RateLimitInterceptor, RateLimitModule, SkipRateLimit } from 'luanest/rate-limit';
import { RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage';
import { ReadRewardModule } from 'luanest/read-reward';
import { RedPacketModule } from 'luanest/red-packet';
import { ScheduledLock, ScheduledLockInterceptor, ScheduledLockModule } from 'luanest/scheduled-lock';
import { defineScript, ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { StreamConsumer, StreamConsumerModule } from 'luanest/stream-consumer';
import { LuanestTestingModule } from 'luanest/testing';
import { SetupError } from '../libs/internal/src';
import { FIXED } from '../libs/script-registry/src/script-registry.options';
import { eventually } from './support/wait';

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
      `${who}: The module that it needs is not imported. Add ${forRoot} to the imports of the root module, without isGlobal: false. ` +
        `Then every module can use ${who}.`,
    );
  });
});

describe('while Redis is down', () => {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(String(line)));
  });
  afterEach(() => jest.restoreAllMocks());

  async function boot(options: ScriptRegistryModuleOptions, ...imports: DynamicModule[]): Promise<void> {
    const all = [ScriptRegistryModule.forRoot({ deadlineMs: 300, ...options }), ...imports];
    const app = await Test.createTestingModule({ imports: all })
      .setLogger(false as never)
      .compile();
    await app.init();
    await app.close();
  }

  it.each([
    ['a rate limit', RateLimitModule.forRoot(), 1],
    ['an idempotent route', OnceModule.forRoot(), 1],
    ['a cron job', ScheduledLockModule.forRoot({ namespace: 'app' }), 1],
    ['a delayed task', DelayedTaskModule.forRoot({ work: false }), 2],
  ])('the boot of %s logs one line with the address, the time and what to do', async (_, module, count) => {
    await boot({ url }, module);
    expect(lines).toHaveLength(count);
    expect(lines[0]).toBe(
      'Redis is unavailable: 127.0.0.1:1 is not connected (connect ECONNREFUSED 127.0.0.1:1). Start Redis, or correct the address in ' +
        'ScriptRegistryModule.forRoot(). The app boots without Redis. Modules that read from Redis at boot first wait for it, for ' +
        'up to 300 ms.',
    );
    if (count > 1)
      expect(lines[1]).toMatch(/^Queue default: Redis did not reply, so the option partitions \(1\) was not compared/);
  });

  it.each(['best-effort', 'required'] as const)(
    'a server that never replies is logged while boot waits: %s',
    async (preload) => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket.on('error', () => undefined));
      });
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      const { port } = server.address() as AddressInfo;
      const timeout = jest.replaceProperty(FIXED, 'preloadTimeoutMs', preload === 'required' ? 1_500 : 60_000);
      const booted = boot({ connection: { host: '127.0.0.1', port, retryStrategy: () => null }, preload });
      const settled = booted.catch((error: unknown) => error);
      await eventually(() => expect(lines).toHaveLength(1));
      expect(lines[0]).toMatch(
        new RegExp(`^Redis is unavailable: 127\\.0\\.0\\.1:${port} is not connected\\. Start Redis, or `),
      );
      expect(lines[0]).toMatch(
        preload === 'required'
          ? / for up to 1500 ms, then the boot fails, because preload is 'required'\.$/
          : / up to 300 ms\.$/,
      );
      timeout.restore();
      for (const socket of sockets) socket.destroy();
      server.close();
      if (preload === 'best-effort') {
        expect(await settled).toBeUndefined();
        expect(lines).toHaveLength(1);
      }
    },
  );
});

describe('what is set up, but has no effect', () => {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(String(line)));
  });
  afterEach(() => jest.restoreAllMocks());

  async function warningsOf(metadata: ModuleMetadata): Promise<string[]> {
    const imports = [LuanestTestingModule.forRoot(), ...(metadata.imports ?? [])];
    const app = await Test.createTestingModule({ ...metadata, imports })
      .setLogger(false as never)
      .compile();
    await app.init();
    await app.close();
    return lines;
  }

  @Controller()
  @UseGuards(RateLimitGuard)
  class Unlimited {
    @Get()
    get(): void {}
    @Post()
    post(): void {}
  }
  @Controller()
  class PartlyLimited {
    @UseGuards(RateLimitGuard)
    @Get()
    forgotten(): void {}
    @UseGuards(RateLimitGuard)
    @RateLimit({ limit: 1, windowMs: 1_000 })
    @Post()
    limited(): void {}
    @UseGuards(RateLimitGuard)
    @SkipRateLimit()
    @Put()
    skipped(): void {}
  }

  it('a guard without a rule', async () => {
    const controllers = [Unlimited, PartlyLimited];
    expect(await warningsOf({ imports: [RateLimitModule.forRoot()], controllers })).toEqual([
      'RateLimitGuard limits nothing on Unlimited, PartlyLimited.forgotten, because no rule applies there. Add @RateLimit({ limit, ' +
        'windowMs }) to the class or the method, or rules to RateLimitModule.forRoot(). Or remove the guard.',
    ]);
  });

  it('a guard with a rule of the module is silent', async () => {
    const imports = [RateLimitModule.forRoot({ rules: [{ name: 'all', limit: 1, windowMs: 1_000 }] })];
    expect(await warningsOf({ imports, controllers: [Unlimited] })).toEqual([]);
  });

  @Injectable()
  class Tasks {
    @DelayedTask('order.expire')
    expire(): void {}
  }
  @Injectable()
  class Messages {
    @StreamConsumer({ stream: 'orders', group: 'mails' })
    mail(): void {}
  }

  it('a handler of tasks whose class is not a provider', async () => {
    expect(await warningsOf({ imports: [DelayedTaskModule.forRoot()] })).toEqual([
      'No provider of this app has @DelayedTask(), but Tasks.expire has it. Add the class to the providers of a module, or its ' +
        'handlers are never called. If this process should only schedule tasks, set work: false in DelayedTaskModule.forRoot().',
    ]);
  });

  it('a handler of messages whose class is not a provider', async () => {
    expect(await warningsOf({ imports: [StreamConsumerModule.forRoot()] })).toEqual([
      'No provider of this app has @StreamConsumer(), but Messages.mail has it. Add the class to the providers of a module, or its ' +
        'handlers are never called.',
    ]);
  });

  it('is silent about handlers that are provided, and about a process that only schedules', async () => {
    const imports = [DelayedTaskModule.forRoot(), StreamConsumerModule.forRoot()];
    @Injectable()
    class Inherits extends Tasks {}
    expect(await warningsOf({ imports, providers: [Inherits, Messages] })).toEqual([]);
    expect(await warningsOf({ imports: [DelayedTaskModule.forRoot({ work: false })] })).toEqual([]);
  });
});

describe('the stack of an error of a decorator begins in the file of the user', () => {
  const decorators: Record<string, () => unknown> = {
    'an unknown option': () => {
      class Cats {
        @RateLimit({ ttl: 5 } as never)
        find(): void {}
      }
      return Cats;
    },
    'a wrong target': () => {
      class Mails {
        @DelayedTask('mail.send')
        static send(): void {}
      }
      return Mails;
    },
  };

  it.each(Object.entries(decorators))('%s', (_, load) => {
    let stack = '';
    try {
      load();
    } catch (error) {
      stack = (error as Error).stack ?? '';
    }
    const frames = stack.split('\n').filter((line) => line.startsWith('    at ') && !line.includes('reflect-metadata'));
    expect(frames[0]).toContain('first-hour.spec.ts');
    expect(stack).toMatch(/^InvalidOptionError: @(RateLimit on Cats\.find|DelayedTask on Mails\.send): /);
  });
});
