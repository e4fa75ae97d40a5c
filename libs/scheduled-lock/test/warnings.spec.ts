import { Injectable } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { ScheduledLock } from 'luanest/scheduled-lock';
import { startFaultProxy } from 'luanest/testing/servers';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { quiet } from '../../script-registry/test/support';
import type { Job } from '../src/jobs/job';
import { OutcomeLog } from '../src/runs/outcome-log';
import { boot, closeAll, LATER, Lines, tick } from './support';

afterEach(closeAll);

it('the first tick that Redis fails is logged, and how many there were once Redis answers', async () => {
  const lines = new Lines();
  @Injectable()
  class Jobs {
    @Interval(100_000_000)
    @ScheduledLock({ name: 'skips' })
    skips(): void {}
    @Interval(100_000_000)
    @ScheduledLock({ name: 'runs', onRedisError: 'run' })
    runs(): void {}
  }
  const proxy = await startFaultProxy(sharedRedisUrl());
  const client = quiet(new Redis(proxy.url, { retryStrategy: () => 20 }));
  const options = { prefix: uniquePrefix(), client, lock: { deadlineMs: 100 }, logger: lines };
  const { app, close } = await boot({ imports: [ScheduleModule.forRoot()], providers: [Jobs] }, options);
  const jobs = app.get(Jobs);
  proxy.refuse();
  for (let i = 0; i < 3; i++) await Promise.all([tick(jobs, 'skips'), tick(jobs, 'runs')]);
  const warned = (name: string, how: RegExp): unknown =>
    expect.stringMatching(
      new RegExp(`^warn Job ${name}: Redis failed when .* of the run \\([A-Z_]+\\), so the job ${how.source}`),
    );
  expect([...lines.ours].sort()).toEqual([warned('runs', /runs without the lock/), warned('skips', /does not run/)]);
  lines.clear();
  proxy.pass();
  await eventually(async () => {
    await Promise.all([tick(jobs, 'skips'), tick(jobs, 'runs')]);
    expect([...lines.ours].sort()).toEqual([
      expect.stringMatching(/^log Job runs: Redis replies again\. The job ran without the lock \d+ times since \d{4}-/),
      expect.stringMatching(/^log Job skips: Redis replies again\. The job did not run \d+ times since \d{4}-/),
    ]);
  });
  lines.clear();
  await Promise.all([tick(jobs, 'skips'), tick(jobs, 'runs')]);
  expect(lines.ours).toEqual([]);
  await close();
  await proxy.stop();
});

it('the first stale tick is logged with its cause, and how many there were once one is not', async () => {
  const lines = new Lines();
  @Injectable()
  class Jobs {
    @Cron(LATER, { name: 'ahead', disabled: true })
    @ScheduledLock({ name: 'ahead' })
    ahead(): void {}
  }
  const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
  const { app } = await boot(metadata, { prefix: uniquePrefix(), lock: { staleAfterMs: 5_000 }, logger: lines });
  for (let i = 0; i < 3; i++) await tick(app.get(Jobs), 'ahead');
  const about = lines.ours.filter((line) => !line.includes('by hand'));
  expect(about).toEqual([
    expect.stringMatching(
      /^warn Job ahead: the run scheduled at \d{4}-\S+Z is skipped on this node \(status stale\), because it fired more than 5000 ms away .* By the clock of this machine it fired \d+ ms (late|early), so check /,
    ),
  ]);
  lines.clear();
  const job = app.get(SchedulerRegistry).getCronJob('ahead');
  const CronTime = job.cronTime.constructor as new (source: Date) => typeof job.cronTime;
  job.setTime(new CronTime(new Date()));
  await tick(app.get(Jobs), 'ahead');
  expect(lines.ours.filter((line) => !line.includes('by hand'))).toEqual([
    expect.stringMatching(
      /^log Job ahead: its scheduled runs are on time again\. 3 runs were stale and skipped since \d{4}-/,
    ),
  ]);
});

it('a catch-up or a run by hand does not end a series of stale ticks', () => {
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line), log: (line: string) => lines.push(line) };
  const log = new OutcomeLog({ node: 'n', historySize: 10, staleAfterMs: 5_000 }, logger);
  const job = { options: { name: 'j', onRedisError: 'skip' } } as Job;
  const slot = Date.now() - 60_000;
  log.record(job, { mode: 'tick', status: 'stale', slot }, true);
  log.record(job, { mode: 'catch-up', status: 'ran', slot: slot - 60_000 }, true);
  log.record(job, { mode: 'free', status: 'ran', slot: 0 }, true);
  expect(lines).toHaveLength(1);
  log.record(job, { mode: 'tick', status: 'ran', slot: Date.now() }, true);
  expect(lines.slice(1)).toEqual([
    expect.stringMatching(/^Job j: its scheduled runs are on time again\. 1 run was stale and skipped since /),
  ]);
});
