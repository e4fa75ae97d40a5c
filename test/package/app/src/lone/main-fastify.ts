import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LoneModule, useLone } from './lone.js';

async function main(): Promise<void> {
  await useLone(await NestFactory.create(LoneModule, new FastifyAdapter(), { logger: ['error'] }));
}

void main();
