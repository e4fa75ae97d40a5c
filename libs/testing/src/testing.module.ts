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
 * Module for tests. It gives each ScriptRegistry of the app an in-memory Redis, which runs the real Lua scripts. It also gives the app a
 * clock that the test moves. Use `app.get(LuanestTesting)` to control Redis and the clock. The module opens no port. After `app.close()`,
 * no timer of the module is left.
 */
@Module({})
export class LuanestTestingModule {
  /**
   * Creates the module for a test of single providers. Import it instead of `ScriptRegistryModule.forRoot`. Import the modules of the
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
   * Creates the module for a test of a whole app. The module imports the app's root module. It connects all ScriptRegistries of the app to
   * in-memory servers instead of the Redis of their options. The app may have created a client itself (option `client`, or
   * `@liaoliaots/nestjs-redis`). A client of ioredis is connected to the in-memory server too. A Cluster client and a client of
   * node-redis are closed.
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
