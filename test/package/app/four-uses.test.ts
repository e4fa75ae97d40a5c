import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';

/** Written from docs/four-uses.md into the app that runs this. */
const FOUR_USES: string = './src/quick-starts/four-uses/app.module';

jest.setTimeout(60_000);

/** As the Nest CLI writes it for a new app: nothing here knows that there is a Redis client to end. */
describe('AppController (e2e)', () => {
  let app: INestApplication;

  beforeEach(async () => {
    const { AppModule } = (await import(FOUR_USES)) as { AppModule: Type };
    const fixture = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = fixture.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
  });

  afterEach(() => app.close());

  it('/orders (GET)', async () => {
    const response = await fetch(`${await app.getUrl()}/orders`);
    expect([response.status, await response.text()]).toEqual([200, 'No orders']);
  });

  it('/orders (POST)', async () => {
    const headers = { 'x-user': 'ann', 'idempotency-key': 'k1' };
    const create = async (): Promise<unknown> =>
      (await fetch(`${await app.getUrl()}/orders`, { method: 'POST', headers })).json();
    const first = await create();
    expect(first).toMatchObject({ orderId: expect.any(String) as string });
    expect(await create()).toEqual(first);
  });
});
