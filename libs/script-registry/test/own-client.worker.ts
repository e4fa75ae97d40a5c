// An app that connects by the options given, asks its registry's health, and closes. Nothing else ends the process.
import { NestFactory } from '@nestjs/core';
import { ScriptRegistry, ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';

async function main(options: ScriptRegistryModuleOptions): Promise<void> {
  const app = await NestFactory.createApplicationContext(
    { module: class App {}, imports: [ScriptRegistryModule.forRoot(options)] },
    { logger: false },
  );
  const { healthy } = await app.get(ScriptRegistry).health();
  await app.close();
  process.send?.(healthy);
}

process.once('message', (options) => void main(options as ScriptRegistryModuleOptions));
