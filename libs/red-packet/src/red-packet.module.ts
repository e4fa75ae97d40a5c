import { ConfigurableModuleBuilder, Module, type DynamicModule, type Type } from '@nestjs/common';
import { DelayedTaskService } from 'luanest/delayed-task';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { checkObject, importedOnce } from '../../internal/src';
import { describeRoutes, type OpenApiSecurity } from './openapi/openapi';
import { RedPacketPayouts } from './payouts/red-packet.payouts';
import { RedPacketPayoutsController } from './payouts/red-packet-payouts.controller';
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

const RAW_OPTIONS = Symbol('luanest:red-packet-raw-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RedPacketOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<RedPacketModuleExtras>(
    { controller: true, isGlobal: true, openApiSecurity: undefined, registry: undefined },
    (definition, { controller, isGlobal, openApiSecurity, registry }) => ({
      ...definition,
      global: isGlobal ?? true,
      imports: [...(definition.imports ?? []), ScriptRegistryModule.forFeature(redPacketScripts, registry)],
      controllers: controller === false ? [] : controllers(openApiSecurity),
      providers: [
        ...(definition.providers ?? []),
        importedOnce('RedPacketModule', RedPacketService),
        { provide: RED_PACKET_OPTIONS, inject: [RAW_OPTIONS], useFactory: resolveOptions },
        {
          provide: RedPacketService,
          inject: [
            getScriptRegistryToken(registry),
            RED_PACKET_OPTIONS,
            { token: StreamConsumerService, optional: true },
            { token: DelayedTaskService, optional: true },
          ],
          useFactory: (
            scripts: ScriptRegistry,
            options: ResolvedRedPacketOptions,
            streams?: StreamConsumerService,
            tasks?: DelayedTaskService,
          ) => {
            // Streams of another registry know nothing of these outboxes.
            const own = streams?.runsOn(scripts) === true ? streams : undefined;
            return new RedPacketService(scripts, options, { streams: own, tasks, registryName: registry ?? '' });
          },
        },
        {
          provide: RedPacketPayouts,
          inject: [
            RedPacketService,
            getScriptRegistryToken(registry),
            { token: StreamConsumerService, optional: true },
          ],
          useFactory: (packets: RedPacketService, scripts: ScriptRegistry, streams?: StreamConsumerService) =>
            new RedPacketPayouts(packets, streams, scripts),
        },
        RedPacketAdminGuard,
      ],
      exports: [RedPacketService, RedPacketPayouts],
    }),
  )
  .build();

/** Red packets over a ScriptRegistry: the service, and a controller unless it is switched off. */
@Module({})
export class RedPacketModule extends ConfigurableModuleClass {
  /**
   * Makes the module.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: RedPacketOptions & RedPacketModuleExtras): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
