import type { ModuleMetadata, Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { TestClock } from '../src/clock/test-clock';
import { MemoryRedis } from '../../memory-redis/src';

export interface AppByClock {
  readonly clock: TestClock;
  readonly memory: MemoryRedis;
  readonly app: TestingModule;
  /** The client of this app. Without it, the app is as dead for the others. */
  readonly client: Redis;
}

const open: AppByClock[] = [];

/** Starts an app on a MemoryRedis that lives by the installed TestClock. `closeApps` closes it. */
export async function startApp(
  imports: NonNullable<ModuleMetadata['imports']>,
  providers: Provider[] = [],
  { clock, memory }: Partial<Pick<AppByClock, 'clock' | 'memory'>> = {},
): Promise<AppByClock> {
  const installed = clock ?? TestClock.installed ?? new TestClock().install();
  const redis = memory ?? new MemoryRedis({ clock: installed });
  const client = redis.client();
  const builder = Test.createTestingModule({
    imports: [ScriptRegistryModule.forRoot({ client }), ...imports],
    providers,
  });
  const app = await builder.compile();
  await app.init();
  const started = { clock: installed, memory: redis, app, client };
  open.push(started);
  return started;
}

/** Closes all apps, and uninstalls the clock. */
export async function closeApps(): Promise<void> {
  for (const { app, client, clock } of open.splice(0)) {
    await clock.until(app.close());
    client.disconnect();
  }
  TestClock.installed?.uninstall();
}
