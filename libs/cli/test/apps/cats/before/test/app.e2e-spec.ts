import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { AppModule } from '../src/app.module';

describe('cats (e2e)', () => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = moduleRef.createNestApplication();
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(() => app.close());

  const statuses = async (n: number, path: string, method = 'GET') => {
    const found: number[] = [];
    for (let i = 0; i < n; i++) found.push((await fetch(url + path, { method })).status);
    return found;
  };

  it('limits the list', async () => {
    expect(await statuses(6, '/cats')).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('limits creation by a limit of its own', async () => {
    expect(await statuses(3, '/cats', 'POST')).toEqual([201, 201, 429]);
  });

  it('never limits the health check', async () => {
    expect(await statuses(8, '/cats/health')).toEqual(Array(8).fill(200));
  });
});
