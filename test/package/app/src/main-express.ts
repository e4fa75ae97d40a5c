import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { useAll } from './use-all.js';

async function main(): Promise<void> {
  await useAll(await NestFactory.create(AppModule, new ExpressAdapter(), { logger: ['error'] }));
}

void main();
