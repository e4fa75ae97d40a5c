// Boots the quick start of each lib that was compiled, checks that its scripts are on the server, and closes it.
import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { ScriptRegistry } from 'luanest/script-registry';

const folder = join(process.cwd(), 'dist/quick-starts');
for (const lib of readdirSync(folder).sort()) {
  if (!readdirSync(join(folder, lib)).includes('app.module.js')) continue;
  const { AppModule } = await import(pathToFileURL(join(folder, lib, 'app.module.js')).href);
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.init();
  const { healthy, problems } = await app.get(ScriptRegistry).health();
  if (!healthy) process.exitCode = 1;
  console.log(`${lib}: ${healthy ? 'healthy' : problems.join(', ')}`);
  await app.close();
}
console.log('closed');
