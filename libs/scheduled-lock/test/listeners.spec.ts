import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { processWarnings } from '../../../test/support/process-warnings';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { boot, closeAll, tick } from './support';

afterEach(closeAll);

it('50 ticks that wait at the same time, and a run with 50 listeners on its signal, cause no warning of Node', async () => {
  const warnings = processWarnings();
  let claims = 0;
  const count = (event: unknown): void => {
    if ((event as ScriptRegistryEvents['callEnded']).call.script === 'scheduled-lock.claim') claims += 1;
  };
  subscribe(ScriptRegistryEvents.callEnded, count);
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Interval(100_000_000)
    @ScheduledLock({ name: 'waits' })
    async waits(): Promise<void> {
      const signal = this.locks.current()?.signal;
      await Promise.all(Array.from({ length: 50 }, () => sleep(1, undefined, signal && { signal })));
      await finished;
    }
  }
  const { app } = await boot({ imports: [ScheduleModule.forRoot()], providers: [Jobs] }, { prefix: uniquePrefix() });
  const holder = app.get(ScheduledLockService).runNow('waits');
  await eventually(() => expect(claims).toBe(1));
  const ticks = Array.from({ length: 50 }, () => tick(app.get(Jobs), 'waits'));
  // Each of them has claimed twice, so each has slept.
  await eventually(() => expect(claims).toBeGreaterThan(100));
  finish();
  await Promise.all([holder, ...ticks]);
  unsubscribe(ScriptRegistryEvents.callEnded, count);
  await warnings.stop();
  expect(warnings.texts).toEqual([]);
});
