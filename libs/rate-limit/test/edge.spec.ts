import {
  Controller,
  Get,
  Injectable,
  Module,
  UseGuards,
  UseInterceptors,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  getRateLimitResult,
  RateLimit,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitService,
  SkipRateLimit,
  type RateLimitDecision,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'luanest/rate-limit';
import { LuanestTesting, LuanestTestingModule } from 'luanest/testing';
import { clientOf } from '../src/contexts/http';
import { resolveOptions } from '../src/rate-limit.options';
import { resolveRule } from '../src/rules/resolve-rule';
import { keepResult } from '../src/rules/results';

describe('the client of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2345:6:7:8:9', '2001:db8:1:2300:0:0:0:0/56'],
    ['2001:DB8:1:23ff::1', '2001:db8:1:2300:0:0:0:0/56'],
    ['2001:db8:1:2400::1', '2001:db8:1:2400:0:0:0:0/56'],
    ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:0/56'],
    ['::1', '0:0:0:0:0:0:0:0/56'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0:0:0:0:0/56'],
    ['not:an:address', 'not:an:address'],
    ['192.0.2.7:50001', '192.0.2.7'],
    ['[2001:db8:1:2345::1]:4001', '2001:db8:1:2300:0:0:0:0/56'],
    ['[2001:db8:1:2345::1]', '2001:db8:1:2300:0:0:0:0/56'],
    ['[::ffff:192.0.2.7]:4001', '192.0.2.7'],
    ['[no:address]:1', 'no:address'],
  ])('%s is %s', (address, client) => {
    expect(clientOf(address, 56)).toBe(client);
  });

  it('has the prefix of the options', () => {
    expect(clientOf('2001:db8:1:2345:6:7:8:9', 64)).toBe('2001:db8:1:2345:0:0:0:0/64');
    expect(clientOf('2001:db8:1:2345:6:7:8:9', 128)).toBe('2001:db8:1:2345:6:7:8:9/128');
    expect(clientOf('2001:db8:1:2345:6:7:8:9', 33)).toBe('2001:db8:0:0:0:0:0:0/33');
  });
});

describe('invalid options are refused when the class is loaded, or at boot', () => {
  const good = { limit: 1, windowMs: 1_000 };
  it.each<[string, object, RegExp]>([
    ['a window under 1 ms', { windowMs: 0.5 }, /windowMs is 0\.5.*integer from 1 .* ms, not seconds/],
    ['a window of 0', { windowMs: 0 }, /windowMs is 0/],
    ['a window without end', { windowMs: Infinity }, /windowMs is Infinity/],
    ['a limit of text', { limit: '5' }, /limit is "5"/],
    ['a negative limit', { limit: -1 }, /limit is -1/],
    ['a limit that is not a number', { limit: NaN }, /limit is NaN/],
    ['a sliding log that is too large', { algorithm: 'sliding-log', limit: 10_001 }, /limit is 10001.*0 to 10000/],
    ['an unknown algorithm', { algorithm: 'leaky' }, /algorithm is "leaky".*token-bucket/],
    ['a burst of a window', { burst: 3 }, /burst is 3, .* Only token-bucket has a burst/],
    ['a burst of 0', { algorithm: 'token-bucket', burst: 0 }, /burst is 0/],
    ['a cost that never passes', { cost: 2 }, /cost is 2\. Expected an integer from 0 to 1, /],
    [
      'a cost that a bucket never holds',
      { algorithm: 'token-bucket', limit: 50, burst: 3, cost: 5 },
      /cost is 5\. Expected an integer from 0 to 3, /,
    ],
    ['a cost of a half', { cost: 0.5 }, /cost is 0\.5/],
    ['a subject of text', { subject: 'ip' }, /subject is "ip".*function/],
    ['an unknown option', { ttl: 5 }, /no option "ttl"\. Known: .*windowMs/],
    ['a name with spaces', { name: 'a b' }, /name is "a b"/],
    ['an unknown count', { count: 'some' }, /count is "some"/],
    ['a negative block', { blockMs: -1 }, /blockMs is -1/],
    ['a growing block of nothing', { maxBlockMs: 5 }, /blockMs is 0, so maxBlockMs has no effect\./],
    ['a growing block that shrinks', { blockMs: 10, maxBlockMs: 5 }, /maxBlockMs is 5.*10/],
    ['an unknown policy', { onRedisError: 'open' }, /onRedisError is "open"/],
  ])('%s', (_what, wrong, message) => {
    expect(() => resolveRule({ ...good, ...wrong })).toThrow(message);
    expect(() => {
      class Cats {
        find(): void {
          // Never called.
        }
      }
      const descriptor = Object.getOwnPropertyDescriptor(Cats.prototype, 'find') as never;
      RateLimit({ ...good, ...wrong })(Cats.prototype, 'find', descriptor);
    }).toThrow(/^@RateLimit on Cats\.find: /);
  });

  it.each<[string, object, RegExp]>([
    ['a rule without a name', { rules: [good] }, /^RateLimitModule: rules\[0\] has no name/],
    [
      'two rules of one name',
      {
        rules: [
          { name: 'a', ...good },
          { name: 'a', ...good },
        ],
      },
      /two rules named "a"/,
    ],
    ['rules that are not an array', { rules: {} }, /array of rules/],
    ['a deadline in seconds', { deadlineMs: 0.05 }, /deadlineMs is 0\.05.* ms, not seconds/],
    ['a deadline of 0', { deadlineMs: 0 }, /deadlineMs is 0/],
    ['a deadline above a minute', { deadlineMs: 60_001 }, /deadlineMs is 60001/],
    ['invalid headers', { responses: { headers: 1 } }, /responses\.headers is 1/],
  ])('options: %s', (_what, wrong, message) => {
    expect(() => resolveOptions(wrong as never)).toThrow(message);
  });

  const refusal =
    /^RateLimitModule: Rule "a" has count: "failures", but Cats\.purr is not an HTTP route.*interceptor: true/;
  it.each<[string, boolean, ClassDecorator | undefined, RegExp | undefined]>([
    ['without it', false, undefined, refusal],
    ['by the option', true, undefined, undefined],
    ['on the class', false, UseInterceptors(RateLimitInterceptor), undefined],
    ['by a counting rule of the class', false, RateLimit({ ...good, count: 'successes' }), undefined],
    ['by another rule of the class', false, RateLimit(good), refusal],
  ])(
    'a rule of the module that counts outcomes of messages needs the interceptor: %s',
    async (_where, interceptor, ofClass, message) => {
      const decorate: ClassDecorator = ofClass ?? (() => undefined);
      @Controller()
      @UseGuards(RateLimitGuard)
      @decorate
      class Cats {
        @MessagePattern('purr')
        purr(): string {
          return 'ok';
        }

        @Get()
        find(): string {
          return 'ok';
        }
      }
      const options = { rules: [{ name: 'a', ...good, count: 'failures' as const }], interceptor };
      const testing = Test.createTestingModule({
        imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot(options)],
        controllers: [Cats],
      });
      const app = (await testing.compile()).createNestApplication({ logger: false });
      if (message) await expect(app.init()).rejects.toThrow(message);
      else await app.init();
      await app.close();
    },
  );

  it('a rule without a name on a method that is not a route stops the boot', async () => {
    @Injectable()
    class Worker {
      @RateLimit(good)
      work(): void {
        // Never called.
      }
    }
    const testing = Test.createTestingModule({
      imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot()],
      providers: [Worker],
    });
    const app = (await testing.compile()).createNestApplication({ logger: false });
    await expect(app.init()).rejects.toThrow(/^@RateLimit on Worker\.work: A rule has no name\. Set the option `name`/);
  });
});

describe('with LuanestTestingModule', () => {
  @Controller({ path: 'cats', version: '2' })
  @UseGuards(RateLimitGuard)
  class CatsController {
    @RateLimit({ limit: 2, windowMs: 60_000 })
    @Get()
    find(): string {
      return 'ok';
    }

    @RateLimit({
      name: 'tenant',
      limit: 1,
      windowMs: 60_000,
      subject: (context: ExecutionContext) => tenantOf(context),
    })
    @Get('dogs')
    dogs(): string {
      return 'ok';
    }

    @SkipRateLimit()
    @Get('free')
    free(): string {
      return 'ok';
    }
  }

  function tenantOf(context: ExecutionContext): string | undefined {
    return context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-tenant'];
  }

  async function open(
    options: RateLimitModuleOptions,
    controller: Type = CatsController,
  ): Promise<NestFastifyApplication> {
    @Module({ imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot(options)], controllers: [controller] })
    class AppModule {}
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    const app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    await app.init();
    return app;
  }

  it('decides as in production, by the clock of the test', async () => {
    const app = await open({ rules: [{ name: 'all', limit: 100, windowMs: 1_000 }] });
    const { clock } = app.get(LuanestTesting);
    const find = async (): Promise<number> => (await app.inject({ url: '/cats' })).statusCode;
    expect([await find(), await find(), await find()]).toEqual([200, 200, 429]);
    await clock.advance(59_999);
    expect(await find()).toBe(429);
    await clock.advance(1);
    const after = await app.inject({ url: '/cats' });
    expect(after.statusCode).toBe(200);
    expect(after.headers.ratelimit).toBe('"all";r=99;t=1, "GET /cats v2";r=1;t=60');
    const decision = await app.get(RateLimitService).peek('all', '127.0.0.1');
    expect(JSON.parse(JSON.stringify(decision))).toMatchObject({ allowed: true, rules: [{ name: 'all', used: 1 }] });
    await app.close();
  });

  it('counts subjects separately, and requests without a subject together', async () => {
    const app = await open({});
    const dogs = async (tenant?: string): Promise<number> =>
      (await app.inject({ url: '/cats/dogs', headers: tenant ? { 'x-tenant': tenant } : {} })).statusCode;
    expect([await dogs('a'), await dogs('a'), await dogs('b'), await dogs(), await dogs()]).toEqual([
      200, 429, 200, 200, 429,
    ]);
    expect((await app.inject({ url: '/cats/free' })).headers.ratelimit).toBeUndefined();
    await app.close();
  });
});

describe('the decision of a WebSocket message', () => {
  const handler = (): void => undefined;
  const decisionOf = (client: object, payload: unknown): RateLimitDecision | undefined => {
    const context = new ExecutionContextHost([client, payload], Object, handler);
    context.setType('ws');
    return getRateLimitResult(context);
  };

  it('is not that of an earlier message of the client', () => {
    const [client, payload] = [{}, { text: 'second' }];
    const [first, second] = [{ allowed: true }, { allowed: false }] as RateLimitDecision[];
    keepResult(client, handler, first as RateLimitDecision);
    expect(decisionOf(client, 'first')).toBe(first);
    expect(decisionOf(client, payload)).toBeUndefined();
    keepResult(payload, handler, second as RateLimitDecision);
    expect(decisionOf(client, payload)).toBe(second);
  });
});
