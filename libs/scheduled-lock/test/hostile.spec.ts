import { Cron, ScheduleModule } from '@nestjs/schedule';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { LuanestError } from 'luanest/script-registry';
import { HOSTILE_IDS, hostileValues, IMPOSSIBLE_IDS, isPolluted } from '../../../test/support/hostile';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { resolveOptions } from '../src/scheduled-lock.options';
import { boot, closeAll, LATER, Lines, tick } from './support';

afterEach(closeAll);

/** A provider with a job for each name, and how often each ran. */
function jobsNamed(names: readonly string[]) {
  const runs = new Map<string, number>();
  class Jobs {}
  const prototype = Jobs.prototype as unknown as Record<string, () => Promise<void>>;
  for (const [i, name] of names.entries()) {
    const key = `job${i}`;
    const method = (): Promise<void> => Promise.resolve(void runs.set(name, (runs.get(name) ?? 0) + 1));
    const descriptor: PropertyDescriptor = { value: method, writable: true, configurable: true, enumerable: false };
    ScheduledLock({ name })(prototype, key, descriptor);
    Cron(LATER)(prototype, key, descriptor);
    Object.defineProperty(prototype, key, descriptor);
  }
  return { Jobs, runs };
}

it('jobs of any name have a lock and a history each', async () => {
  const { Jobs, runs } = jobsNamed(HOSTILE_IDS);
  const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
  const logger = new Lines();
  const { app } = await boot(metadata, { prefix: uniquePrefix(), logger });
  const jobs = app.get<Record<string, () => Promise<void>>>(Jobs);
  for (let i = 0; i < HOSTILE_IDS.length; i++) await tick(jobs, `job${i}`);
  expect({ runs: [...runs], said: logger.ours }).toEqual({ runs: HOSTILE_IDS.map((name) => [name, 1]), said: [] });
  const service = app.get(ScheduledLockService);
  for (const name of HOSTILE_IDS) expect(await service.history(name)).toHaveLength(1);
  expect(isPolluted()).toBe(false);
});

it.each(IMPOSSIBLE_IDS.filter((name) => name !== ''))(
  'a name that no key can hold is refused at boot',
  async (name) => {
    const { Jobs } = jobsNamed([name]);
    const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
    await expect(boot(metadata, { prefix: uniquePrefix() })).rejects.toThrow(/^@ScheduledLock on Jobs\.job0: name is /);
  },
);

it('options of any kind are taken or refused by name, and change no other object', () => {
  for (const option of Object.keys(resolveOptions({ namespace: 'n' }))) {
    for (const value of hostileValues()) {
      try {
        resolveOptions({ namespace: 'n', [option]: value });
      } catch (error) {
        expect([option, error instanceof LuanestError]).toEqual([option, true]);
      }
    }
  }
  expect(isPolluted()).toBe(false);
});
