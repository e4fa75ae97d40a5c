import { Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Redis } from 'ioredis';
import { Idempotent, OnceModule } from 'luanest/once';
import type { Delivery } from '../src/once.types';
import { ScriptRegistryModule } from 'luanest/script-registry';

/** Job that the parent process sends to a server. */
export interface ServerJob {
  readonly redis: string;
  readonly prefix: string;
  readonly delivery: Delivery;
  readonly leaseMs: number;
  /** True: the handler never ends. */
  readonly hangs: boolean;
}

async function main({ redis, prefix, delivery, leaseMs, hangs }: ServerJob): Promise<void> {
  const client = new Redis(redis);

  @Controller('orders')
  class Orders {
    @Post()
    @Idempotent({ delivery, leaseMs })
    async create(): Promise<unknown> {
      const run = await client.incr(`${prefix}:runs`);
      if (hangs) {
        process.send?.('there');
        await new Promise(() => undefined);
      }
      return { run };
    }
  }

  @Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix, preload: 'required' }),
      OnceModule.forRoot({ idempotency: { subject: () => 'ann' } }),
    ],
    controllers: [Orders],
  })
  class App {}
  const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  process.send?.(await app.getUrl());
}

process.once('message', (job) => void main(job as ServerJob));
process.once('disconnect', () => process.exit(1));
