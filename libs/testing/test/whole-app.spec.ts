import { Controller, Get, Injectable, Module, type ModuleMetadata, UseGuards, UseInterceptors } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { Idempotent, IdempotencyInterceptor, Once, OnceModule, OnceService } from 'luanest/once';
import { RateLimitGuard, RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ScheduledLock } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumer } from 'luanest/stream-consumer';
import { LuanestTestingModule, TestingSetupError } from 'luanest/testing';

@Injectable()
class Jobs {
  @ScheduledLock()
  build(): string {
    return 'built';
  }

  @Once({ id: (id: string) => id })
  paid(_id: string): string {
    return 'booked';
  }

  @StreamConsumer({ stream: 'orders', group: 'mails' })
  mail(): void {
    // Nothing calls it.
  }
}

@Controller()
@UseGuards(RateLimitGuard)
class Limited {
  @Get()
  get(): string {
    return 'found';
  }
}

@Controller()
class Orders {
  @Get('orders')
  @Idempotent()
  @UseInterceptors(IdempotencyInterceptor)
  place(): string {
    return 'placed';
  }
}

@Injectable()
class TenantGuard extends RateLimitGuard {
  constructor(limits: RateLimitService) {
    super(limits);
  }
}

const apps: TestingModule[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

async function boot({ imports = [], ...metadata }: ModuleMetadata): Promise<TestingModule> {
  @Module({ imports: [ScriptRegistryModule.forRoot({ url: 'redis://127.0.0.1:1' }), ...imports], ...metadata })
  class AppModule {}
  const app = await Test.createTestingModule({ imports: [LuanestTestingModule.forApp(AppModule)] }).compile();
  apps.push(app);
  app.useLogger(false);
  return app.init();
}

describe('forApp refuses an app without the module of', () => {
  it.each<[string, ModuleMetadata, string[]]>([
    [
      'decorated methods',
      { providers: [Jobs] },
      [
        '@StreamConsumer on Jobs.mail needs StreamConsumerModule.forRoot()',
        '@Once on Jobs.paid needs OnceModule.forRoot()',
        '@ScheduledLock on Jobs.build needs ScheduledLockModule.forRoot()',
      ],
    ],
    [
      'an object of a factory',
      { providers: [{ provide: 'jobs', useFactory: () => new Jobs() }] },
      ['@Once on Jobs.paid needs OnceModule.forRoot()'],
    ],
    ['a guard of a controller', { controllers: [Limited] }, ['RateLimitGuard needs RateLimitModule.forRoot()']],
    [
      'a global guard',
      { providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }] },
      ['RateLimitGuard needs RateLimitModule.forRoot()'],
    ],
    ['an interceptor', { controllers: [Orders] }, ['IdempotencyInterceptor needs OnceModule.forRoot()']],
  ])('%s', async (_what, metadata, texts) => {
    const error = await boot(metadata).then(
      () => new Error('It booted'),
      (refusal: Error) => refusal,
    );
    expect(error).toBeInstanceOf(TestingSetupError);
    expect(error.message).toMatch(/^LuanestTestingModule.forApp: .* Import the module into the app\.$/);
    for (const text of texts) expect(error.message).toContain(text);
  });

  it('a class that cannot see it', async () => {
    @Module({ imports: [RateLimitModule.forRoot({ isGlobal: false })] })
    class Hidden {}
    await expect(boot({ imports: [Hidden], controllers: [Limited] })).rejects.toThrow('RateLimitGuard needs');
  });
});

it('forApp boots an app that has all modules, or mocks of the services', async () => {
  await boot({
    imports: [RateLimitModule.forRoot(), OnceModule.forRoot({ idempotency: { subject: () => 'ann' } })],
    controllers: [Limited, Orders],
    providers: [
      TenantGuard,
      {
        provide: 'guard',
        useFactory: (limits: RateLimitService) => new RateLimitGuard(limits),
        inject: [RateLimitService],
      },
    ],
  });
  await boot({ controllers: [Limited], providers: [{ provide: RateLimitService, useValue: {} }] });
  await boot({ controllers: [Orders], providers: [{ provide: OnceService, useValue: {} }] });
});

it('forRoot boots a class without its module', async () => {
  const app = await Test.createTestingModule({
    imports: [LuanestTestingModule.forRoot()],
    providers: [Jobs],
  }).compile();
  apps.push(app);
  await app.init();
  expect(app.get(Jobs).build()).toBe('built');
});

it.each([
  ['production', 1],
  ['test', 0],
])('luanest/testing with NODE_ENV=%s logs %d warnings', (env, warnings) => {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = env;
  try {
    jest.isolateModules(() => jest.requireActual('luanest/testing'));
    const texts = written.mock.calls.map(([text]) => String(text));
    expect(texts.filter((text) => text.includes('luanest/testing was loaded with NODE_ENV=production.'))).toHaveLength(
      warnings,
    );
  } finally {
    process.env.NODE_ENV = before;
    written.mockRestore();
  }
});
