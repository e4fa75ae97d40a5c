import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';

/** Written from README.md into the app that runs this. */
const FRONT_PAGE: string = './src/quick-starts/front-page/app.module';

jest.setTimeout(60_000);

/** As the Nest CLI writes it for a new app: nothing here knows that there is a Redis client to end. */
describe('AppController (e2e)', () => {
  let app: INestApplication;

  beforeEach(async () => {
    const { AppModule } = (await import(FRONT_PAGE)) as { AppModule: Type };
    const fixture = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = fixture.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
  });

  afterEach(() => app.close());

  it('/cats (GET)', async () => {
    const response = await fetch(`${await app.getUrl()}/cats`);
    expect([response.status, await response.text()]).toEqual([200, 'Tom']);
  });

  it('/articles/1/read (POST)', async () => {
    const response = await fetch(`${await app.getUrl()}/articles/1/read`, {
      method: 'POST',
      headers: { 'x-user': 'ann' },
    });
    expect(await response.json()).toMatchObject({ status: 'rewarded', points: 2 });
  });
});
