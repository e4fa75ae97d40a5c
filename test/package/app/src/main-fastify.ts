import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { useAll } from './use-all.js';

async function main(): Promise<void> {
  await useAll(await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] }));
}

void main();
