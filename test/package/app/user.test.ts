import { Controller, Get, UseGuards, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RateLimit, RateLimitGuard, RateLimitModule } from 'luanest/rate-limit';
import { LuanestTesting, LuanestTestingModule } from 'luanest/testing';
import { AppModule } from './src/app.module.js';
import { uses } from './src/use-all.js';

@Controller('cats')
@UseGuards(RateLimitGuard)
class CatsController {
  @RateLimit({ limit: 1, windowMs: 60_000 })
  @Get()
  find(): string {
    return 'Tom';
  }
}

let app: INestApplication;

afterEach(() => app.close());

test.each(Object.entries(uses))('%s works in a test of its user', async (_door, use) => {
  const compiled = await Test.createTestingModule({ imports: [AppModule] }).compile();
  app = compiled.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  await expect(use(app, await app.getUrl())).resolves.toEqual(expect.any(String));
});

test('limits are tested without Redis, by a clock of the test', async () => {
  const compiled = await Test.createTestingModule({
    imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot()],
    controllers: [CatsController],
  }).compile();
  app = compiled.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  const ask = async (): Promise<number> => (await fetch(`${await app.getUrl()}/cats`)).status;
  expect([await ask(), await ask()]).toEqual([200, 429]);
  await app.get(LuanestTesting).clock.advance(60_000);
  expect(await ask()).toBe(200);
});
