import { Controller, Module, Post, type INestApplication } from '@nestjs/common';
import { CurrentOnceRun, Idempotent, OnceModule, OnceService, type OnceRun } from 'luanest/once';

interface AppRequest {
  readonly headers: Record<string, string>;
}

const runs: OnceRun[] = [];

@Controller('orders')
class OrdersController {
  private made = 0;

  @Post()
  @Idempotent()
  create(@CurrentOnceRun() run: OnceRun): { orderId: number } {
    runs.push(run);
    return { orderId: (this.made += 1) };
  }

  @Post('by-digest')
  @Idempotent({ fingerprint: (request) => (request as AppRequest).headers['x-digest'] ?? '' })
  createByDigest(): string {
    return 'made';
  }
}

@Module({
  imports: [OnceModule.forRoot({ idempotency: { subject: (request) => (request as AppRequest).headers['x-user'] } })],
  controllers: [OrdersController],
})
export class OnceUse {}

async function post(url: string, key: string, digest = ''): Promise<string> {
  const headers = { 'Idempotency-Key': key, 'X-User': 'ann', 'X-Digest': digest };
  const response = await fetch(url, { method: 'POST', headers });
  const type = response.headers.get('content-type') ?? '';
  return response.status < 400 ? `${response.status} ${await response.text()}` : `${response.status} ${type}`;
}

export async function useOnce(app: INestApplication, url: string): Promise<string> {
  const once = app.get(OnceService);
  const claim = await once.claim('message-1');
  if (claim.status !== 'claimed') return claim.status;
  await claim.confirm({ sent: true });
  const again = await once.peek('message-1');
  const orders = `${url}/orders`;
  const answers = [await post(orders, '"7c1f"'), await post(orders, '"7c1f"')];
  const peeked = await once.peek({ subject: 'ann', key: '7c1f' });
  const work = await once.run('work', { leaseMs: 60_000 }, ({ id }) => `${id} ${once.current()?.id}`);
  const digests = [await post(`${orders}/by-digest`, 'd', 'a'), await post(`${orders}/by-digest`, 'd', 'b')];
  return [
    `claimed, then ${again.status}`,
    `route answered ${answers.join(', then ')}`,
    `ran ${runs.map((run) => run.id).join()}, then ${peeked.status}`,
    `${work.status} ${work.status === 'in-progress' ? '' : work.result}`,
    `digests ${digests.join(', then ')}`,
  ].join('; ');
}
