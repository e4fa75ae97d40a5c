import type { ModulesContainer } from '@nestjs/core';
import type { DelayedTaskService } from 'luanest/delayed-task';
import type { LockService } from 'luanest/lock';
import type { RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import type { ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistry } from 'luanest/script-registry';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { SetupError } from '../../../internal/src';

interface Services {
  readonly DelayedTask: DelayedTaskService;
  readonly Lock: LockService;
  readonly RedPacket: RedPacketService;
  readonly RedPacketPayouts: RedPacketPayouts;
  readonly ScheduledLock: ScheduledLockService;
  readonly StreamConsumer: StreamConsumerService;
}

type Lib = keyof Services;

/* eslint-disable @typescript-eslint/no-require-imports -- a lib is loaded only if the app has loaded it */
const LIBS: { readonly [L in Lib]: () => abstract new (...parts: never[]) => Services[L] } = {
  DelayedTask: () => (require('luanest/delayed-task') as typeof import('luanest/delayed-task')).DelayedTaskService,
  Lock: () => (require('luanest/lock') as typeof import('luanest/lock')).LockService,
  RedPacket: () => (require('luanest/red-packet') as typeof import('luanest/red-packet')).RedPacketService,
  RedPacketPayouts: () => (require('luanest/red-packet') as typeof import('luanest/red-packet')).RedPacketPayouts,
  ScheduledLock: () =>
    (require('luanest/scheduled-lock') as typeof import('luanest/scheduled-lock')).ScheduledLockService,
  StreamConsumer: () =>
    (require('luanest/stream-consumer') as typeof import('luanest/stream-consumer')).StreamConsumerService,
};
/* eslint-enable @typescript-eslint/no-require-imports */

const isPayouts = (lib: Lib): boolean => lib === 'RedPacketPayouts';
const moduleOf = (lib: Lib): string => (isPayouts(lib) ? 'RedPacketModule' : `${lib}Module`);

/** Finds the services of luanest in the app. A lib that the app does not use must not be loaded for this. */
export class AppServices {
  constructor(readonly modules: ModulesContainer) {}

  /** The ScriptRegistries of the app, without duplicates. */
  get registries(): readonly ScriptRegistry[] {
    const wrappers = [...this.modules.values()].flatMap(({ providers }) => [...providers.values()]);
    return [...new Set(wrappers.flatMap(({ instance }) => (instance instanceof ScriptRegistry ? [instance] : [])))];
  }

  /** Returns a service; undefined if the app does not have it, has not created it yet, or uses a mock. */
  find<L extends Lib>(lib: L): Services[L] | undefined {
    const moduleName = moduleOf(lib);
    for (const { metatype, providers } of this.modules.values()) {
      if (metatype.name !== moduleName) continue;
      const type = LIBS[lib]();
      const instance: unknown = providers.get(type)?.instance;
      if (instance instanceof type) return instance;
    }
    return undefined;
  }

  /** Returns a service. @param caller name of the calling method, for the error @throws SetupError if the app does not have the service */
  get<L extends Lib>(lib: L, caller: string): Services[L] {
    const service = this.find(lib);
    if (service) return service;
    throw new SetupError(
      `${caller} needs ${isPayouts(lib) ? lib : `${lib}Service`}. Import ${moduleOf(lib)} in the app of the test, and do not replace its service with a mock.`,
      { code: 'TESTING_SETUP' },
    );
  }
}
