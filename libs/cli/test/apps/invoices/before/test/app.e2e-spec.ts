import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { AppModule } from '../src/app.module';
import { InvoicesService } from '../src/invoices.service';
import { StockService } from '../src/stock.service';

describe('invoices (e2e)', () => {
  let app: TestingModule;
  let invoices: InvoicesService;

  beforeAll(async () => {
    app = await Test.createTestingModule({ imports: [AppModule] }).compile();
    await app.init();
    invoices = app.get(InvoicesService);
  });
  afterAll(async () => {
    const redis = app.get(Redis);
    await app.close();
    redis.disconnect();
  });

  it('builds an invoice once at a time', async () => {
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let first!: Promise<void>;
    await new Promise<void>((started, failed) => {
      first = invoices.build('a', () => {
        started();
        return finished;
      });
      first.catch(failed);
    });
    expect(await invoices.tryBuild('a')).toBe(false);
    finish();
    await first;
    expect(await invoices.tryBuild('a')).toBe(true);
    expect(invoices.built).toEqual(['a', 'a']);
  });

  it('lets others wait for both names', async () => {
    const stock = app.get(StockService);
    const left = await Promise.all([stock.move('x', 'y'), stock.move('y', 'z'), stock.move('z', 'x')]);
    expect(left.sort()).toEqual([7, 8, 9]);
  });
});
