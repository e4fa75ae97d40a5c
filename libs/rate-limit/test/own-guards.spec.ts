import { Controller, Get, Inject, Injectable, UseGuards, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RateLimit, RateLimitGuard, RateLimitModule, RateLimitService, SkipRateLimit } from 'luanest/rate-limit';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';

@Injectable()
class OwnGuard extends RateLimitGuard {}

@Injectable()
class Users {}

@Injectable()
class GuardOfUsers extends RateLimitGuard {
  @Inject()
  readonly limits!: RateLimitService;

  @Inject()
  readonly users!: Users;
}

@Controller()
class Routes {
  @UseGuards(GuardOfUsers)
  @SkipRateLimit('all')
  @Get('users')
  users(): string {
    return 'ok';
  }

  @UseGuards(OwnGuard)
  @Get('own')
  own(): string {
    return 'ok';
  }

  @UseGuards(OwnGuard, RateLimitGuard)
  @RateLimit({ name: 'two', limit: 2, windowMs: 60_000 })
  @Get('both')
  both(): string {
    return 'ok';
  }
}

describe("an app's own guard", () => {
  let app: INestApplication;
  const client = standaloneClient();

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
        RateLimitModule.forRoot({ deadlineMs: 10_000, rules: [{ name: 'all', limit: 3, windowMs: 60_000 }] }),
      ],
      controllers: [Routes],
      providers: [Users, GuardOfUsers],
    }).compile();
    app = module.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(async () => {
    await app.close();
    client.disconnect();
  });

  const statusOf = async (path: string): Promise<number> => (await fetch(`${await app.getUrl()}/${path}`)).status;

  it('gets providers of the app in its properties', async () => {
    const guard = app.get(GuardOfUsers);
    expect([guard.users, guard.limits]).toEqual([expect.any(Users), app.get(RateLimitService)]);
    expect(await statusOf('users')).toBe(200);
  });

  it('enforces the rules of the module, and counts a request once next to RateLimitGuard', async () => {
    expect([await statusOf('both'), await statusOf('both'), await statusOf('both')]).toEqual([200, 200, 429]);
    expect([await statusOf('own'), await statusOf('own')]).toEqual([200, 429]);
  });
});
