import { connect } from 'node:net';
import {
  Controller,
  Get,
  Injectable,
  Module,
  NotFoundException,
  Post,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  RateLimitResult,
  RateLimitService,
  type RateLimitDecision,
} from 'luanest/rate-limit';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { of, type Observable } from 'rxjs';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { standalone } from './support';

const two = { limit: 2, windowMs: 60_000 };
let release: () => void = () => undefined;
let ran = 0;

@Injectable()
class NobodyGuard implements CanActivate {
  canActivate(): boolean {
    throw new UnauthorizedException();
  }
}

/** Responds without the handler, as a cache does. */
@Injectable()
class CachedInterceptor implements NestInterceptor {
  intercept(): Observable<string> {
    return of('cached');
  }
}

@Controller()
class OutcomesController {
  @RateLimit({ name: 'closed', ...two, count: 'successes' })
  @UseGuards(NobodyGuard)
  @Get('closed')
  closed(): string {
    return 'never';
  }

  @UseInterceptors(CachedInterceptor)
  @RateLimit({ name: 'cached', ...two, count: 'failures' })
  @Get('cached')
  cached(): string {
    return 'never';
  }

  @RateLimit({ name: 'missing', ...two, count: 'failures' })
  @Get('missing')
  missing(): string {
    throw new NotFoundException();
  }

  @RateLimit({ name: 'slow', ...two, count: 'successes' })
  @Post('slow')
  async slow(): Promise<string> {
    ran += 1;
    await new Promise<void>((resolve) => (release = resolve));
    throw new NotFoundException();
  }

  @RateLimit({ name: 'shown', ...two })
  @Get('shown')
  shown(@RateLimitResult() limits: RateLimitDecision | undefined): unknown {
    return limits?.rules.map(({ name, remaining }) => ({ name, remaining }));
  }

  @Get('free')
  free(@RateLimitResult() limits: RateLimitDecision | undefined): string {
    return limits === undefined ? 'undefined' : 'limited';
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const)('on %s an outcome', (_platform, adapter) => {
  let app: INestApplication;
  let client: Redis;
  let url: string;

  beforeAll(async () => {
    client = standalone();
    @Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
        RateLimitModule.forRoot({ deadlineMs: 10_000 }),
      ],
      controllers: [OutcomesController],
      providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }],
    })
    class AppModule {}
    app = (await Test.createTestingModule({ imports: [AppModule] }).compile()).createNestApplication(
      adapter() as never,
      {
        logger: false,
      },
    );
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(async () => {
    await app.close();
    client.disconnect();
  });

  const used = async (name: string): Promise<number | undefined> =>
    (await app.get(RateLimitService).peek({ name, ...two }, '127.0.0.1')).rules[0]?.used;
  const status = async (path: string): Promise<number> => (await fetch(`${url}/${path}`)).status;

  it('is the status that the client gets, from any part of the app', async () => {
    for (let i = 0; i < 4; i++) {
      expect(await status('closed')).toBe(401);
      await eventually(async () => expect(await used('closed')).toBe(0));
    }
    for (let i = 0; i < 4; i++) {
      expect(await status('cached')).toBe(200);
      await eventually(async () => expect(await used('cached')).toBe(0));
    }
    expect([await status('missing'), await status('missing'), await status('missing')]).toEqual([404, 404, 429]);
  });

  it('of a request whose client hung up keeps its hits', async () => {
    ran = 0;
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
    socket.write('POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n');
    await eventually(() => expect(ran).toBe(1));
    socket.resetAndDestroy();
    // Long enough for the app to see it.
    await sleep(50);
    release();
    // What was given back would be by the time that another route has answered.
    expect(await status('free')).toBe(200);
    expect(await used('slow')).toBe(1);
  });

  it('can be read in the handler', async () => {
    expect(await (await fetch(`${url}/shown`)).json()).toEqual([{ name: 'shown', remaining: 1 }]);
    expect(await (await fetch(`${url}/shown`)).json()).toEqual([{ name: 'shown', remaining: 0 }]);
    expect(await (await fetch(`${url}/free`)).text()).toBe('undefined');
  });
});
