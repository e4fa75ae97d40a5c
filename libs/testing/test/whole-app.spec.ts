import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { Idempotent, IdempotencyInterceptor, Once, OnceModule } from 'luanest/once';
import { RateLimitGuard, RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ScheduledLock } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumer } from 'luanest/stream-consumer';
import { LuanestTestingModule } from 'luanest/testing';

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
  @Inject()
  readonly limits!: RateLimitService;
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

describe('an app without the module of', () => {
  it.each<[string, ModuleMetadata, string | RegExp]>([
    ['decorated methods', { providers: [Jobs] }, '@ScheduledLock on Jobs.build needs ScheduledLockModule.forRoot()'],
    ['a guard of a controller', { controllers: [Limited] }, /RateLimitGuard: The module that it needs is not imported/],
    [
      'a global guard',
      { providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }] },
      /RateLimitGuard: The module that it needs is not imported/,
    ],
    ['an interceptor', { controllers: [Orders] }, /IdempotencyInterceptor: The module that it needs is not imported/],
  ])('%s does not boot, as in production', async (_what, metadata, text) => {
    await expect(boot(metadata)).rejects.toThrow(text);
  });

  it('an object of a factory refuses to run its methods', async () => {
    const app = await boot({ providers: [{ provide: 'jobs', useFactory: () => new Jobs() }] });
    expect(() => app.get<Jobs>('jobs').build()).toThrow(
      '@ScheduledLock on Jobs.build: The method did not run, because Nest has not given its object',
    );
  });

  it('a class that cannot see it does not boot', async () => {
    @Module({ imports: [RateLimitModule.forRoot({ isGlobal: false })] })
    class Hidden {}
    await expect(boot({ imports: [Hidden], controllers: [Limited] })).rejects.toThrow(
      /RateLimitGuard: The module that it needs is not imported/,
    );
  });
});

it('an app that has all modules boots', async () => {
  const app = await boot({
    imports: [RateLimitModule.forRoot(), OnceModule.forRoot({ idempotency: { subject: () => 'ann' } })],
    controllers: [Limited, Orders],
    providers: [TenantGuard],
  });
  expect(app.get(TenantGuard).limits).toBe(app.get(RateLimitService));
});
