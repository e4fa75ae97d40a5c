import { Module, type DynamicModule } from '@nestjs/common';
import { NestFactory, type AbstractHttpAdapter } from '@nestjs/core';
import { ConsoleModule } from 'luanest/console';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { LockModule } from 'luanest/lock';
import { OnceModule } from 'luanest/once';
import { RateLimitModule } from 'luanest/rate-limit';
import { RedPacketModule } from 'luanest/red-packet';
import { ScheduledLockModule } from 'luanest/scheduled-lock';
import { ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import type { Found } from '../redis/found';
import { OneTimeLink } from './one-time-link';

const HOST = '127.0.0.1';

export interface ConsoleAppOptions {
  readonly redis: Pick<ScriptRegistryModuleOptions, 'url' | 'connection' | 'prefix'>;
  readonly found: Found;
  /** True if actions may run. */
  readonly act: boolean;
  readonly showPayloads: boolean;
  /** Name of the user, for the log of actions. */
  readonly user: string;
  /** Port to listen on; 0: any free port. */
  readonly port: number;
  readonly adapter: AbstractHttpAdapter;
}

/**
 * Starts an app of Nest that has only the console, and the modules whose data is in Redis. No handler runs in this app. Only `luanest
 * console` loads this file, because the file needs Nest.
 *
 * @returns the link to the page, and a function that ends the app
 */
export async function openConsoleApp(options: ConsoleAppOptions): Promise<{ link: string; close(): Promise<void> }> {
  const { act, showPayloads, user, port, adapter } = options;
  const link = new OneTimeLink();
  class App {}
  Module({
    imports: [
      ...modulesOf(options),
      ConsoleModule.forRoot({
        guard: link,
        readOnly: !act,
        actor: () => ({ name: user, role: act ? 'act' : 'read' }),
        showPayloads,
      }),
    ],
  })(App);
  const app = await NestFactory.create(App, adapter, { logger: ['error', 'warn'], abortOnError: false });
  app.use(link.exchange);
  try {
    await app.listen(port, HOST);
  } catch (error) {
    await app.close();
    throw error;
  }
  return { link: `${await app.getUrl()}/console/${link.query}`, close: () => app.close() };
}

function modulesOf({ redis, found }: ConsoleAppOptions): DynamicModule[] {
  const [first, ...rest] = [...found.queues].map(([name, { length }]) => [name, { partitions: length }] as const);
  return [
    ScriptRegistryModule.forRoot(redis),
    StreamConsumerModule.forRoot(),
    OnceModule.forRoot(),
    LockModule.forRoot(),
    ScheduledLockModule.forRoot({ namespace: 'luanest-console' }),
    RateLimitModule.forRoot(),
    // Only queues that exist are imported, because the module of a queue writes the queue's number of partitions into Redis. `isGlobal` is
    // false, so that RedPacketModule finds no queue: it would schedule tasks there.
    ...(first
      ? [
          DelayedTaskModule.forRoot({
            ...{ namespace: first[0], ...first[1], work: false, isGlobal: false },
            queues: Object.fromEntries(rest),
          }),
        ]
      : []),
    ...(found.packetPartitions === undefined
      ? []
      : [
          RedPacketModule.forRoot({ identity: () => undefined, controller: false, partitions: found.packetPartitions }),
        ]),
  ];
}
