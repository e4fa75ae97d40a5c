import { setTimeout } from 'node:timers/promises';
import { Test, type TestingModule } from '@nestjs/testing';
import { AppModule } from '../src/app.module';
import { CleanupService } from '../src/cleanup.service';
import { ReportsService } from '../src/reports.service';

describe('reports (e2e)', () => {
  let app: TestingModule;

  beforeAll(async () => {
    app = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app.useLogger(false);
    await app.init();
  });
  afterAll(() => app.close());

  it('runs its jobs', async () => {
    const reports = app.get(ReportsService);
    const cleanup = app.get(CleanupService);
    for (let i = 0; i < 200 && !(reports.built > 0 && cleanup.cleaned > 1 && cleanup.warmed); i++) await setTimeout(50);
    expect(reports.built).toBeGreaterThan(0);
    expect(cleanup.cleaned).toBeGreaterThan(1);
    expect(cleanup.warmed).toBe(true);
  });

  it('has its cron jobs in the registry', () => {
    expect(app.get(ReportsService).jobs().sort()).toEqual(['archive', 'report']);
  });
});
