import {
  Controller,
  Get,
  Injectable,
  Module,
  UseGuards,
  VERSION_NEUTRAL,
  VersioningType,
  type ControllerOptions,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, RouterModule } from '@nestjs/core';
import { EventPattern } from '@nestjs/microservices';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
  type RateLimitModuleOptions,
} from 'luanest/rate-limit';
import { LuanestTestingModule } from 'luanest/testing';
import { SKIP_METADATA } from '../src/rules/route-rules';

const minute = { windowMs: 60_000 };
const everywhere = { provide: APP_GUARD, useExisting: RateLimitGuard };
const rules = [{ name: 'default', limit: 100, ...minute }];

let app: INestApplication | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function boot(
  parts: { controllers?: Type[]; providers?: object[]; imports?: object[] },
  options: RateLimitModuleOptions = {},
  adapter: object = new ExpressAdapter(),
): Promise<INestApplication> {
  @Module({
    imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot(options), ...((parts.imports ?? []) as never[])],
    controllers: parts.controllers ?? [],
    providers: (parts.providers ?? [everywhere]) as never[],
  })
  class AppModule {}
  const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
  app = testing.createNestApplication(adapter as never, { logger: false });
  app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' });
  await app.init();
  return app;
}

const refusal = async (...parts: Parameters<typeof boot>): Promise<string> =>
  boot(...parts).then(
    () => 'booted',
    (error: Error) => error.message,
  );

it('several @SkipRateLimit() add up, and one without names skips all rules', async () => {
  @Controller()
  class SkippingController {
    @SkipRateLimit('a')
    @SkipRateLimit('b')
    @Get('two')
    two(): string {
      return 'ok';
    }

    @SkipRateLimit('a')
    @SkipRateLimit()
    @Get('all')
    all(): string {
      return 'ok';
    }

    @SkipRateLimit()
    @SkipRateLimit('a')
    @Get('also')
    also(): string {
      return 'ok';
    }
  }
  const three = ['a', 'b', 'c'].map((name) => ({ name, limit: 9, ...minute }));
  await boot({ controllers: [SkippingController] }, { rules: three });
  await app?.listen(0, '127.0.0.1');
  expect(await policy('two')).toBe('200 "c";q=9;w=60');
  expect([await policy('all'), await policy('also')]).toEqual(['200 null', '200 null']);
});

/** A controller with one limited route; the name of its rule is derived from the route. */
function limited(options: ControllerOptions, limit: number): Type {
  @Controller(options)
  class LimitedController {
    @RateLimit({ limit, ...minute })
    @Get('x')
    find(): string {
      return 'ok';
    }
  }
  return LimitedController;
}

async function policy(path: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${await (app as INestApplication).getUrl()}/${path}`, { headers });
  return `${response.status} ${response.headers.get('ratelimit-policy')}`;
}

describe('a rule without a name belongs to its route', () => {
  it.each([
    ['Express', () => new ExpressAdapter()],
    ['Fastify', () => new FastifyAdapter()],
  ])('also if only the path of the module differs, on %s', async (_platform, adapter) => {
    @Module({ controllers: [limited({ path: 'users' }, 2)] })
    class AdminModule {}
    @Module({ controllers: [limited({ path: 'users' }, 5)] })
    class ShopModule {}
    const router = RouterModule.register([
      { path: 'admin', module: AdminModule },
      { path: 'shop', children: [{ path: ':id', module: ShopModule }] },
    ]);
    await boot({ imports: [AdminModule, ShopModule, router] }, {}, adapter());
    await app?.listen(0, '127.0.0.1');
    for (const status of [200, 200, 429]) {
      expect(await policy('admin/users/x')).toBe(`${status} "GET /admin/users/x";q=2;w=60`);
    }
    for (let i = 0; i < 5; i++) expect(await policy('shop/7/users/x')).toBe('200 "GET /shop/:id/users/x";q=5;w=60');
  });

  it('also if only the host or the version differs', async () => {
    const controllers = [
      limited({ path: 'a', host: 'admin.test' }, 2),
      limited({ path: 'a', host: ['www.test', /^shop/] }, 3),
      limited({ path: 'b', version: VERSION_NEUTRAL }, 4),
      limited({ path: 'c', version: [VERSION_NEUTRAL, '1'] }, 5),
    ];
    await boot({ controllers });
    await app?.listen(0, '127.0.0.1');
    const url = new URL(await (app as INestApplication).getUrl());
    const policyAt = async (path: string, host: string): Promise<string> => {
      const { request } = await import('node:http');
      return new Promise((resolve) =>
        request({ host: url.hostname, port: url.port, path, headers: { host } }, (response) => {
          response.resume();
          resolve(`${response.statusCode} ${String(response.headers['ratelimit-policy'])}`);
        }).end(),
      );
    };
    expect(await policyAt('/a/x', 'admin.test')).toBe('200 "GET admin.test/a/x";q=2;w=60');
    expect(await policyAt('/a/x', 'www.test')).toBe('200 "GET www.test,/^shop//a/x";q=3;w=60');
    expect(await policyAt('/b/x', 'localhost')).toBe('200 "GET /b/x vneutral";q=4;w=60');
    expect(await policyAt('/c/x', 'localhost')).toBe('200 "GET /c/x vneutral,1";q=5;w=60');
  });

  it('but a controller in two modules with two paths needs a name', async () => {
    const Shared = limited({ path: 'users' }, 2);
    @Module({ controllers: [Shared] })
    class AdminModule {}
    @Module({ controllers: [Shared] })
    class ShopModule {}
    const router = RouterModule.register([
      { path: 'admin', module: AdminModule },
      { path: 'shop', module: ShopModule },
    ]);
    expect(await refusal({ imports: [AdminModule, ShopModule, router] })).toMatch(
      /LimitedController\.find.*Set the option `name` of the rule/,
    );
  });

  it('and two handlers that would share the name are refused', async () => {
    @Injectable()
    class One {
      @RateLimit({ limit: 1, ...minute })
      @EventPattern('paid')
      paid(_event: unknown): void {
        // Never called.
      }
    }
    @Injectable()
    class Two {
      @RateLimit({ limit: 1, ...minute })
      @EventPattern('paid')
      book(_event: unknown): void {
        // Never called.
      }
    }
    expect(await refusal({ providers: [One, Two, everywhere] })).toMatch(
      /^@RateLimit on Two\.book: .*a rule of One\.paid have no name, .*"rpc \[\\?"paid\\?"\]".*Set the option `name` of both rules\.$/,
    );
  });
});

describe('refused at boot', () => {
  it.each<[string, object, RegExp]>([
    [
      'another window',
      { windowMs: 300 },
      /^@RateLimit on Cats\.find: windowMs of rule "default" is 300, but 60000 in the rules of RateLimitModule\./,
    ],
    [
      'another algorithm',
      { algorithm: 'sliding-log' },
      /^@RateLimit on Cats\.find: algorithm of rule "default" is "sliding-log", but "fixed-window" in/,
    ],
  ])('one name with %s', async (_what, other, message) => {
    @Controller('cats')
    class Cats {
      @RateLimit({ name: 'default', limit: 3, ...minute, ...other })
      @Get()
      find(): string {
        return 'ok';
      }
    }
    expect(await refusal({ controllers: [Cats] }, { rules })).toMatch(message);
  });

  it('one name with two windows on two routes', async () => {
    @Controller('cats')
    class Cats {
      @RateLimit({ name: 'shared', limit: 3, ...minute })
      @Get()
      find(): string {
        return 'ok';
      }

      @RateLimit({ name: 'shared', limit: 3, windowMs: 1_000 })
      @Get('one')
      one(): string {
        return 'ok';
      }
    }
    expect(await refusal({ controllers: [Cats] })).toMatch(
      /^@RateLimit on Cats\.one: windowMs of rule "shared" is 1000, but 60000 in @RateLimit on Cats\.find\./,
    );
  });

  it('a skip of a name that no rule has', async () => {
    @Controller('cats')
    class Cats {
      @SkipRateLimit('defualt')
      @Get()
      find(): string {
        return 'ok';
      }
    }
    expect(await refusal({ controllers: [Cats] }, { rules })).toMatch(
      /^@SkipRateLimit on Cats\.find: No rule named "defualt" applies here\. Rules that apply: "default"\./,
    );
    SkipRateLimit('one', 'gone')(Cats);
    RateLimit({ name: 'one', limit: 1, ...minute })(Cats);
    const method = Object.getOwnPropertyDescriptor(Cats.prototype, 'find') as PropertyDescriptor;
    Reflect.deleteMetadata(SKIP_METADATA, method.value as object);
    SkipRateLimit('default')(Cats.prototype, 'find', method);
    expect(await refusal({ controllers: [Cats] }, { rules })).toMatch(
      /^@SkipRateLimit on Cats: No rule named "gone" applies here\./,
    );
  });

  it('a rule that no guard enforces; a rule with a guard boots, wherever the guard is applied', async () => {
    const cats = (decorate: (target: Type, handler: PropertyDescriptor) => void, ofClass = false): Type => {
      @Controller('cats')
      class Cats {
        @Get()
        find(): string {
          return 'ok';
        }
      }
      const method = Object.getOwnPropertyDescriptor(Cats.prototype, 'find') as PropertyDescriptor;
      if (ofClass) RateLimit({ limit: 1, ...minute })(Cats);
      else RateLimit({ limit: 1, ...minute })(Cats.prototype, 'find', method);
      decorate(Cats, method);
      return Cats;
    };
    @Injectable()
    class Delegating implements CanActivate {
      constructor(private readonly limits: RateLimitGuard) {}

      canActivate(context: ExecutionContext): boolean | Promise<boolean> {
        return this.limits.canActivate(context);
      }
    }
    class Unlike implements CanActivate {
      canActivate(): boolean {
        return true;
      }
    }
    const message = /^@RateLimit on Cats\.find: The rule is not enforced, because no RateLimitGuard was found\./;
    const none = (): void => undefined;
    const on =
      (guard: Type): ((target: Type, handler: PropertyDescriptor) => void) =>
      (target, handler) =>
        UseGuards(guard)(target.prototype as object, 'find', handler);
    expect(await refusal({ controllers: [cats(none)], providers: [] })).toMatch(message);
    expect(await refusal({ controllers: [cats(on(Unlike))], providers: [] })).toMatch(message);
    expect(await refusal({ controllers: [cats(none, true)], providers: [] })).toMatch(
      /^@RateLimit on Cats: The rule is not enforced/,
    );
    for (const controllers of [[cats(on(RateLimitGuard))], [cats(on(Delegating))], [cats(on(RateLimitGuard), true)]]) {
      expect(await refusal({ controllers, providers: [] })).toBe('booted');
      await app?.close();
    }
    for (const guard of [{ useExisting: RateLimitGuard }, { useClass: Delegating }]) {
      const providers = [{ provide: APP_GUARD, ...guard }];
      expect(await refusal({ controllers: [cats(none)], providers })).toBe('booted');
      await app?.close();
    }
  });
});
