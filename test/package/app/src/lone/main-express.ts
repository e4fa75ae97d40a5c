import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { LoneModule, useLone } from './lone.js';

async function main(): Promise<void> {
  await useLone(await NestFactory.create(LoneModule, new ExpressAdapter(), { logger: ['error'] }));
}

void main();
