import { Module } from '@nestjs/common';
import { DelayedTaskService } from 'luanest/delayed-task';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { constructed, defineLuanestModule } from '../../internal/src';
import { resolveOptions, type OutboxModuleOptions, type ResolvedOutboxOptions } from './outbox.options';
import { OutboxService } from './outbox.service';

/** Settings of OutboxModule that Nest needs before it knows the options. */
export interface OutboxModuleExtras {
  /** True: every module of the app can inject OutboxService without importing OutboxModule. Default true. */
  readonly isGlobal?: boolean;
}

const OutboxModuleBase = defineLuanestModule<OutboxModuleOptions, OutboxModuleExtras, ResolvedOutboxOptions>({
  name: 'OutboxModule',
  resolve: resolveOptions,
  parts: (_, options) => ({
    providers: [
      constructed(
        OutboxService,
        options,
        { token: DelayedTaskService, optional: true },
        { token: StreamConsumerService, optional: true },
      ),
    ],
    exports: [OutboxService],
  }),
});

/**
 * Provides `OutboxService`, and sends the rows of the outbox table to Redis. Import this module once, in the root module. The option
 * `database` is required.
 */
@Module({})
export class OutboxModule extends OutboxModuleBase {}
