import { Module, type Type } from '@nestjs/common';
import { DelayedTaskService } from 'luanest/delayed-task';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { defineLuanestModule } from '../../internal/src';
import { describeRoutes, type OpenApiSecurity } from './openapi/openapi';
import { RedPacketPayouts } from './payouts/payouts.service';
import { RedPacketPayoutsController } from './payouts/payouts.controller';
import { RedPacketController } from './red-packet.controller';
import { RedPacketAdminGuard } from './red-packet.guard';
import { resolveOptions, type RedPacketModuleOptions, type ResolvedRedPacketModuleOptions } from './red-packet.options';
import { redPacketScripts } from './red-packet.scripts';
import { RedPacketService } from './red-packet.service';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';

/** Settings of the module definition. With forRootAsync they are given next to the factory, not by it. */
export interface RedPacketModuleExtras {
  /** false serves no HTTP routes. Default true. */
  readonly controller?: boolean;
  /** true lets every module of the app inject the services without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Names of the app's security schemes in its OpenAPI document. The first value of a process counts. Default: none. */
  readonly openApiSecurity?: OpenApiSecurity;
  /** Name of the ScriptRegistry to use. Default: the registry without a name. */
  readonly registry?: string;
}

function controllers(security?: OpenApiSecurity): Type[] {
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
    const scriptsToken = getScriptRegistryToken(registry);
    const streamsToken = { token: StreamConsumerService, optional: true };
    return {
      imports: [ScriptRegistryModule.forFeature(redPacketScripts, registry)],
      controllers: controller === false ? [] : controllers(openApiSecurity),
      providers: [
        {
          provide: RedPacketService,
          inject: [scriptsToken, token, streamsToken, { token: DelayedTaskService, optional: true }],
          useFactory: (
            scripts: ScriptRegistry,
            options: ResolvedRedPacketModuleOptions,
            streams?: StreamConsumerService,
            tasks?: DelayedTaskService,
          ) => {
            // Streams on another registry cannot read these outboxes.
            const own = streams?.runsOn(scripts) === true ? streams : undefined;
            return new RedPacketService(scripts, options, { streams: own, tasks, registryName: registry ?? '' });
          },
        },
        {
          provide: RedPacketPayouts,
          inject: [RedPacketService, scriptsToken, streamsToken],
          useFactory: (packets: RedPacketService, scripts: ScriptRegistry, streams?: StreamConsumerService) =>
            new RedPacketPayouts(packets, streams, scripts),
        },
        RedPacketAdminGuard,
      ],
      exports: [RedPacketService, RedPacketPayouts],
    };
  },
});

/** Provides RedPacketService and RedPacketPayouts, and serves the HTTP routes unless `controller` is false. */
@Module({})
export class RedPacketModule extends RedPacketModuleBase {}
