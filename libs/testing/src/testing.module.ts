import { Module, type DynamicModule, type ForwardReference, type Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { Checks } from '../../internal/src';
import { REPLACE_REDIS } from '../../script-registry/src/internal';
import { AppServices } from './harness/app-services';
import { LuanestTesting } from './luanest-testing';
import { resolveOptions, type LuanestTestingModuleOptions } from './testing.options';

type Import = Type | DynamicModule | Promise<DynamicModule> | ForwardReference;

const checks = new Checks('LuanestTestingModule');

/**
 * Module for tests: gives each ScriptRegistry of the app an in-memory Redis that runs the real Lua scripts, and the app a clock.
 * It opens no port, and leaves no timer of its own after `app.close()`. The app, or the test, gets LuanestTesting to control both.
 */
@Module({})
export class LuanestTestingModule {
  /**
   * Makes the module for a test of single providers, where it replaces `ScriptRegistryModule.forRoot`. Import the modules of the
   * other libs as the app does.
   *
   * @throws InvalidOptionError
   */
  static forRoot(options: LuanestTestingModuleOptions = {}): DynamicModule {
    const resolved = resolveOptions(options, checks);
    const { registries = [] } = resolved;
    const named = registries.map((name) => ScriptRegistryModule.forRoot({ name }));
    return dynamicModule(resolved, [ScriptRegistryModule.forRoot(), ...named]);
  }

  /**
   * Makes the module for a test of a whole app. It imports the app's root module, and connects all ScriptRegistries of the app to
   * in-memory servers, whatever Redis their options name. A client that the app made (`client`, or that of
   * `@liaoliaots/nestjs-redis`) is moved to the in-memory server as well; one of a Cluster is disconnected.
   *
   * @param app root module of the app
   * @throws InvalidOptionError
   */
  static forApp(app: Import, options: Omit<LuanestTestingModuleOptions, 'registries'> = {}): DynamicModule {
    return dynamicModule(resolveOptions(options, checks), [app]);
  }
}

function dynamicModule(options: LuanestTestingModuleOptions, imports: Import[]): DynamicModule {
  return {
    module: LuanestTestingModule,
    global: true,
    imports,
    providers: [
      {
        provide: LuanestTesting,
        inject: [ModulesContainer],
        useFactory: (modules: ModulesContainer) => new LuanestTesting(new AppServices(modules), options),
      },
      {
        provide: REPLACE_REDIS,
        inject: [LuanestTesting],
        useFactory: ({ registries }: LuanestTesting) => registries.replace,
      },
    ],
    exports: [LuanestTesting, REPLACE_REDIS],
  };
}
