import { Controller, Get, Logger, type INestApplication } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { RateLimit, RateLimitGuard, RateLimitModule } from 'luanest/rate-limit';
import { LuanestTestingModule } from 'luanest/testing';

@Controller()
class CatsController {
  @RateLimit({ limit: 2, windowMs: 60_000 })
  @Get()
  find(): string {
    return 'ok';
  }
}

let app: INestApplication;
let logged: string[];
const warn = jest.spyOn(Logger.prototype, 'warn');
beforeEach(() => {
  logged = [];
  warn.mockReset().mockImplementation((message: unknown) => void logged.push(String(message)));
});
afterAll(() => warn.mockRestore());
afterEach(() => app.close());

async function open(platform: string, trustProxy: unknown): Promise<void> {
  const testing = Test.createTestingModule({
    imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot({})],
    controllers: [CatsController],
    providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }],
  });
  const adapter =
    platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter({ trustProxy: trustProxy as boolean });
  if (platform === 'Express') (adapter as ExpressAdapter).set('trust proxy', trustProxy);
  app = (await testing.compile()).createNestApplication(adapter as never, { logger: false });
  await app.listen(0, '127.0.0.1');
}

async function ask(...forwardedFor: (string | undefined)[]): Promise<number[]> {
  const seen: number[] = [];
  for (const from of forwardedFor) {
    const headers: Record<string, string> = from === undefined ? {} : { 'x-forwarded-for': from };
    const response = await fetch(await app.getUrl(), { headers });
    seen.push(response.status);
    if (response.status === 429) expect(response.headers.get('content-type')).toContain('application/problem+json');
  }
  return seen;
}

describe.each(['Express', 'Fastify'])('proxies before %s', (platform) => {
  it.each<[string, unknown, string | undefined, RegExp[]]>([
    ['none', false, undefined, []],
    ['one that is not trusted', false, '192.0.2.1', [/trusts no proxy/]],
    ['any that is', true, '192.0.2.1', [/trusts every proxy/]],
    ['any that is, by a function', () => true, '192.0.2.1', [/trusts every proxy/]],
    ['one that is', 'loopback', '192.0.2.1', []],
    ['as many as there are', 1, '192.0.2.1', []],
    ['one of a list', '127.0.0.1,10.0.0.0/8', '192.0.2.1', []],
    ['one that writes ports', 'loopback', '192.0.2.1:4001', [/address of a request has a port/]],
  ])('%s: a warning where it is wrong, once', async (_what, trustProxy, from, warnings) => {
    await open(platform, trustProxy);
    await ask(from, from);
    expect(logged).toHaveLength(warnings.length);
    for (const [i, warning] of warnings.entries()) expect(logged[i]).toMatch(warning);
  });

  it('count a client with another port as the same client', async () => {
    await open(platform, 'loopback');
    expect(await ask('192.0.2.1:50001', '192.0.2.1:50002', '192.0.2.1:50003')).toEqual([200, 200, 429]);
    expect(await ask('[2001:db8::1]:1', '[2001:db8::1]:2', '[2001:db8::1]:3')).toEqual([200, 200, 429]);
  });
});
