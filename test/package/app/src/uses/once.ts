import { Controller, Module, Post, type INestApplication } from '@nestjs/common';
import { Idempotent, OnceModule, OnceService } from 'luanest/once';

@Controller('orders')
class OrdersController {
  private made = 0;

  @Post()
  @Idempotent()
  create(): { orderId: number } {
    return { orderId: (this.made += 1) };
  }
}

interface AppRequest {
  readonly headers: Record<string, string>;
}

@Module({
  imports: [OnceModule.forRoot({ idempotency: { subject: (request) => (request as AppRequest).headers['x-user'] } })],
  controllers: [OrdersController],
})
export class OnceUse {}

async function order(url: string): Promise<string> {
  const headers = { 'Idempotency-Key': '"7c1f"', 'X-User': 'ann' };
  const response = await fetch(`${url}/orders`, { method: 'POST', headers });
  return `${response.status} ${await response.text()}`;
}

export async function useOnce(app: INestApplication, url: string): Promise<string> {
  const once = app.get(OnceService);
  const claim = await once.claim('message-1');
  if (claim.status !== 'claimed') return claim.status;
  await claim.confirm({ sent: true });
  const again = await once.claim('message-1');
  return `claimed, then ${again.status}; route answered ${await order(url)}, then ${await order(url)}`;
}
