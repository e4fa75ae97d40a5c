import { Module, type Type } from '@nestjs/common';
import { DelayedTaskService } from 'luanest/delayed-task';
import { ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { constructed, defineLuanestModule, type NeededRegistry, neededRegistry } from '../../internal/src';
import { Activities } from './activity/activities';
import { describeRoutes } from './openapi/openapi';
import { RedPacketPayouts } from './payouts/payouts.service';
import { RedPacketPayoutsController } from './payouts/payouts.controller';
import { RedPacketController } from './red-packet.controller';
import { RedPacketAdminGuard } from './red-packet.guard';
import { resolveOptions, type RedPacketModuleOptions, type ResolvedRedPacketModuleOptions } from './red-packet.options';
import { redPacketScripts } from './red-packet.scripts';
import { RedPacketService } from './red-packet.service';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';

/** Settings of RedPacketModule that Nest needs before it knows the options. With `forRootAsync`, write them next to `useFactory`. */
export interface RedPacketModuleExtras {
  /** false: the module serves no HTTP routes. Default true. */
  readonly controller?: boolean;
  /** true: every module of the app may inject the services without importing this module. Default true. */
  readonly isGlobal?: boolean;
  /**
   * Names of the app's security schemes, as given to `DocumentBuilder.addSecurity`: `user` for routes that need the user of
   * `identity`, `admin` for routes that need `adminGuard`. They appear in the OpenAPI document. If a process has several apps, all get
   * the value of its first RedPacketModule with routes. Default: none.
   */
  readonly openApiSecurity?: { readonly user?: string; readonly admin?: string };
  /** Name of the ScriptRegistry to use. Default: the registry without a name. */
  readonly registry?: string;
}

function controllers(security: RedPacketModuleExtras['openApiSecurity']): Type[] {
  describeRoutes(security);
  return [RedPacketController, RedPacketPayoutsController];
}

const RedPacketModuleBase = defineLuanestModule<
  RedPacketModuleOptions,
  RedPacketModuleExtras,
  ResolvedRedPacketModuleOptions
>({
  name: 'RedPacketModule',
  optionsToken: RED_PACKET_OPTIONS,
  extras: { controller: true, openApiSecurity: undefined },
  resolve: resolveOptions,
  parts: ({ controller, openApiSecurity, registry }, token) => {
    const scriptsToken = neededRegistry(registry);
    const streamsToken = { token: StreamConsumerService, optional: true };
    return {
      imports: [ScriptRegistryModule.forFeature(redPacketScripts, registry)],
      controllers: controller === false ? [] : controllers(openApiSecurity),
      providers: [
        constructed(Activities, scriptsToken, token),
        {
          provide: RedPacketService,
          inject: [scriptsToken, token, Activities, { token: DelayedTaskService, optional: true }],
          useFactory: (
            { registry: scripts }: NeededRegistry<ScriptRegistry>,
            options: ResolvedRedPacketModuleOptions,
            activities: Activities,
            tasks?: DelayedTaskService,
          ) => new RedPacketService(scripts, options, { activities, tasks, registryName: registry ?? '' }),
        },
        constructed(RedPacketPayouts, scriptsToken, Activities, streamsToken),
        RedPacketAdminGuard,
      ],
      exports: [RedPacketService, RedPacketPayouts],
    };
  },
});

/** Provides RedPacketService and RedPacketPayouts, and serves the HTTP routes unless `controller` is false. */
@Module({})
export class RedPacketModule extends RedPacketModuleBase {}
