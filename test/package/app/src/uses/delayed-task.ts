import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { DelayedTask, DelayedTaskModule, DelayedTaskService, type TaskContext } from 'luanest/delayed-task';
import { Signal } from '../signal.js';

@Injectable()
class Expiry {
  readonly ran = new Signal<string>();

  @DelayedTask('order.expire')
  expire({ orderId }: { orderId: string }, { attempt }: TaskContext): void {
    this.ran.tell(`${orderId} expired at attempt ${attempt}`);
  }
}

@Module({ imports: [DelayedTaskModule.forRoot({})], providers: [Expiry] })
export class DelayedTaskUse {}

export async function useDelayedTask(app: INestApplicationContext): Promise<string> {
  const tasks = app.get(DelayedTaskService);
  const { status } = await tasks.schedule('order.expire', { orderId: 'o1' }, { id: 'expire-o1', delayMs: 100 });
  await tasks.schedule('order.expire', { orderId: 'o2' }, { id: 'expire-o2', delayMs: 60_000 });
  const ran = await app.get(Expiry).ran.told;
  return `${status}, ${ran}, the other ${await tasks.cancel('expire-o2')}`;
}
