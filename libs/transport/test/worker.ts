import { Controller } from '@nestjs/common';
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { Redis } from 'ioredis';
import type { StreamContext } from 'luanest/transport';
import { NEVER, type Observable } from 'rxjs';
import { quiet } from '../../script-registry/test/support';
import { openService } from './support';

/** Job that the parent process sends to a worker. */
export interface EventWorkerJob {
  readonly url: string;
  readonly prefix: string;
}

/** Handlers that never end, until the process is killed. */
@Controller()
class Endless {
  @EventPattern<string>('order.paid')
  handle(@Payload() data: unknown, @Ctx() context: StreamContext): Observable<never> {
    process.send?.(['began', data, context.attempt]);
    return NEVER;
  }

  @MessagePattern('sum')
  sum(@Payload() data: unknown, @Ctx() context: StreamContext): Observable<never> {
    process.send?.(['began', data, context.attempt]);
    return NEVER;
  }
}

async function main({ url, prefix }: EventWorkerJob): Promise<void> {
  const raw = quiet(new Redis(url, { maxRetriesPerRequest: null }));
  await openService({ prefix, raw, controllers: [Endless], module: { leaseMs: 500 } });
  process.send?.('ready');
}

process.once('message', (job) => void main(job as EventWorkerJob));
process.once('disconnect', () => process.exit(1));
