import { setTimeout as delay } from 'node:timers/promises';
import {
  Controller,
  Get,
  HttpCode,
  Module,
  Post,
  Res,
  UnauthorizedException,
  UseGuards,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
  type RateLimitModuleOptions,
} from 'luanest/rate-limit';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { servers } from './support';

const minute = { windowMs: 60_000 };
const user = (context: ExecutionContext): string | undefined =>
  context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-user'];

@Controller('plain')
class PlainController {
  @Get('global')
  global(): string {
    return 'ok';
  }

  @RateLimit({ limit: 2, ...minute })
  @Get('own')
  own(): string {
    return 'ok';
  }

  @RateLimit({ name: 'everywhere', limit: 1, ...minute })
  @Get('override')
  override(): string {
    return 'ok';
  }

  @SkipRateLimit()
  @Get('free')
  free(): string {
    return 'ok';
  }

  @SkipRateLimit('everywhere')
  @RateLimit({ limit: 3, ...minute }, { limit: 2, windowMs: 120_000, algorithm: 'token-bucket' })
  @Get('two')
  two(): string {
    return 'ok';
  }

  @UseGuards(RateLimitGuard)
  @RateLimit({ name: 'twice', limit: 10, ...minute })
  @Get('guarded-twice')
  guardedTwice(): string {
    return 'ok';
  }

  @RateLimit({ name: 'shadow', limit: 1, ...minute, shadow: true })
  @Get('shadow')
  shadow(): string {
    return 'ok';
  }
}

@RateLimit({ limit: 3, ...minute })
@SkipRateLimit('everywhere')
@Controller('together')
class TogetherController {
  @Get('a')
  a(): string {
    return 'ok';
  }

  @Get('b')
  b(): string {
    return 'ok';
  }
}

let password = 'right';

@SkipRateLimit('everywhere')
@Controller('asked')
class AskedController {
  @RateLimit({
    name: 'by-user',
    limit: (context) => Promise.resolve(user(context) === 'vip' ? Infinity : 3),
    ...minute,
    subject: (context) => Promise.resolve(user(context)),
    cost: (context) => (user(context) === 'heavy' ? 3 : 1),
    skip: (context) => user(context) === 'skipped',
  })
  @Get()
  asked(): string {
    return 'ok';
  }

  @RateLimit({ name: 'invalid', limit: () => NaN, ...minute })
  @Get('nonsense')
  nonsense(): string {
    return 'ok';
  }

  @RateLimit({ name: 'login', limit: 2, ...minute, subject: user, count: 'failures' })
  @HttpCode(200)
  @Post('login')
  login(): string {
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }

  @RateLimit({ name: 'order', limit: 2, ...minute, subject: user, count: 'successes' })
  @Post('order')
  order(@Res({ passthrough: true }) response: { status(code: number): unknown }): string {
    if (password !== 'right') response.status(422);
    return 'ordered';
  }

  @RateLimit({ name: 'penalty', limit: 1, windowMs: 50, blockMs: 60_000, subject: user })
  @Get('penalty')
  penalty(): string {
    return 'ok';
  }
}

const platforms = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const;
const stages = servers.flatMap(([server, connect]) =>
  platforms.map(([platform, adapter]) => [platform, server, adapter, connect] as const),
);

describe.each(stages)('the guard on %s with %s', (_platform, _server, adapter, connect) => {
  let app: INestApplication;
  let client: ReturnType<typeof connect>;
  let url: string;

  async function open(options: RateLimitModuleOptions = {}): Promise<void> {
    client = connect();
    @Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
        RateLimitModule.forRoot({
          rules: [{ name: 'everywhere', limit: 4, ...minute }],
          deadlineMs: 10_000,
          ...options,
        }),
      ],
      controllers: [PlainController, TogetherController, AskedController],
      providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }],
    })
    class AppModule {}
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = testing.createNestApplication(adapter() as never, { logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  }
  beforeEach(() => {
    password = 'right';
  });
  afterEach(async () => {
    await app.close();
    client.disconnect();
  });

  const send = (path: string, as?: string, method = 'GET'): Promise<Response> =>
    fetch(`${url}/${path}`, { method, headers: as === undefined ? {} : { 'x-user': as } });
  const statuses = async (path: string, times: number, as?: string, method?: string): Promise<number[]> => {
    const seen: number[] = [];
    for (let i = 0; i < times; i++) seen.push((await send(path, as, method)).status);
    return seen;
  };

  it('sets headers on every response, and refuses with problem details', async () => {
    await open();
    const first = await send('plain/own');
    expect(first.status).toBe(200);
    // The route's own rule stands nearer to a refusal than the one of every route.
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '60',
      'ratelimit-policy': '"everywhere";q=4;w=60, "GET /plain/own";q=2;w=60',
      ratelimit: '"everywhere";r=3;t=60, "GET /plain/own";r=1;t=60',
    });
    expect(first.headers.has('retry-after')).toBe(false);
    await send('plain/own');
    for (const source of ['Redis', 'the cache']) {
      const refused = await send('plain/own');
      expect([source, refused.status]).toEqual([source, 429]);
      const retryAfter = Number(refused.headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThanOrEqual(Number(refused.headers.get('x-ratelimit-reset')));
      expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
      expect(refused.headers.get('ratelimit')).toContain(`"GET /plain/own";r=0;t=${retryAfter}`);
      expect(refused.headers.get('content-type')).toContain('application/problem+json');
      expect(await refused.json()).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: expect.any(String),
        status: 429,
        detail: `Try again in ${retryAfter} s.`,
        'violated-policies': ['GET /plain/own'],
      });
    }
    // Refusals of the route's own rule have charged the other one nothing.
    expect((await send('plain/global')).headers.get('x-ratelimit-remaining')).toBe('1');
  });

  it('merges the rules of module, class and method by name, and charges each once', async () => {
    await open();
    expect(await statuses('plain/override', 2)).toEqual([200, 429]);
    expect(await statuses('plain/free', 6)).toEqual([200, 200, 200, 200, 200, 200]);
    expect((await send('plain/free')).headers.has('ratelimit')).toBe(false);
    expect(await statuses('plain/two', 3)).toEqual([200, 200, 429]);
    expect([...(await statuses('together/a', 2)), ...(await statuses('together/b', 2))]).toEqual([200, 200, 200, 429]);
    const twice = await send('plain/guarded-twice');
    expect(twice.headers.get('ratelimit')).toContain('"twice";r=9');
  });

  it('a shadow rule refuses nothing and is in no header', async () => {
    await open();
    expect(await statuses('plain/shadow', 3)).toEqual([200, 200, 200]);
    expect((await send('plain/shadow')).headers.get('ratelimit')).not.toContain('shadow');
  });

  it('calls the functions of subject, cost, limit and skip', async () => {
    await open();
    expect(await statuses('asked', 4, 'ann')).toEqual([200, 200, 200, 429]);
    expect(await statuses('asked', 2, 'heavy')).toEqual([200, 429]);
    expect(await statuses('asked', 5, 'vip')).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses('asked', 5, 'skipped')).toEqual([200, 200, 200, 200, 200]);
    // Those of nobody share one counter.
    expect(await statuses('asked', 5)).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses('asked/nonsense', 1)).toEqual([500]);
  });

  it('counts only failures, or only successes, by the outcome', async () => {
    await open();
    expect(await statuses('asked/login', 5, 'ann', 'POST')).toEqual([200, 200, 200, 200, 200]);
    password = 'wrong';
    await eventually(async () => {
      const { rules } = await app.get(RateLimitService).peek({ name: 'login', limit: 2, ...minute }, 'ann');
      expect(rules[0]?.used).toBe(0);
    });
    expect(await statuses('asked/login', 3, 'ann', 'POST')).toEqual([401, 401, 429]);
    for (let i = 0; i < 4; i++) {
      expect((await send('asked/order', 'bob', 'POST')).status).toBe(422);
      await eventually(async () => {
        const { rules } = await app.get(RateLimitService).peek({ name: 'order', limit: 2, ...minute }, 'bob');
        expect(rules[0]?.used).toBe(0);
      });
    }
    password = 'right';
    expect(await statuses('asked/order', 3, 'bob', 'POST')).toEqual([201, 201, 429]);
  });

  it('a penalty outlasts the window', async () => {
    await open();
    expect(await statuses('asked/penalty', 1, 'ann')).toEqual([200]);
    // Two must come within the window.
    await eventually(async () => expect(await statuses('asked/penalty', 2, 'ann')).toContain(429));
    await delay(80);
    const blocked = await send('asked/penalty', 'ann');
    expect(blocked.status).toBe(429);
    expect(Number(blocked.headers.get('retry-after'))).toBeGreaterThan(50);
  });

  it('the app can turn off the headers, replace the body, and deny requests without a subject', async () => {
    await open({
      onUnknownSubject: 'deny',
      responses: { headers: false, problem: ({ reason }) => ({ sorry: reason }) },
    });
    expect(await statuses('asked', 1)).toEqual([403]);
    await statuses('plain/own', 2);
    const refused = await send('plain/own');
    expect([...refused.headers.keys()].filter((name) => /ratelimit|retry/.test(name))).toEqual([]);
    expect(await refused.json()).toEqual({ sorry: 'over-limit' });
  });

  it('without Redis, deny responds with 503, and the app can choose the headers', async () => {
    const headers = (_decision: unknown, all: Readonly<Record<string, string>>): Record<string, string> => ({
      'X-Own': Object.keys(all).join(),
    });
    await open({ deadlineMs: 30, onRedisError: 'deny', responses: { headers } });
    client.disconnect();
    const refused = await send('plain/global');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('x-own')).toBe('Retry-After');
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(await refused.json()).toMatchObject({ status: 503, title: 'Service Unavailable' });
  });
});
