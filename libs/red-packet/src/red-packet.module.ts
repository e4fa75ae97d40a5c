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
import { resolveOptions, type RedPacketOptions, type ResolvedRedPacketOptions } from './red-packet.options';
import { redPacketScripts } from './red-packet.scripts';
import { RedPacketService } from './red-packet.service';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';

/** Settings that must be known before the options are: they shape the module itself. */
export interface RedPacketModuleExtras {
  /** Whether RedPacketController is served. Default true. */
  readonly controller?: boolean;
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Names of the app's security schemes for its OpenAPI document; one document, so one setting in a process. Default none. */
  readonly openApiSecurity?: OpenApiSecurity;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

function controllers(security?: OpenApiSecurity): Type[] {
  describeRoutes(security);
  return [RedPacketController, RedPacketPayoutsController];
}

const RedPacketModuleBase = defineLuanestModule<RedPacketOptions, RedPacketModuleExtras, ResolvedRedPacketOptions>({
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
            options: ResolvedRedPacketOptions,
            streams?: StreamConsumerService,
            tasks?: DelayedTaskService,
          ) => {
            // Streams of another registry do not have these outboxes.
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

/** Red packets over a ScriptRegistry: the service, and a controller unless it is switched off. `identity` is required. */
@Module({})
export class RedPacketModule extends RedPacketModuleBase {}
