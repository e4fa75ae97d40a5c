import { Injectable, Logger } from '@nestjs/common';
import { Once } from 'luanest/once';
import { StreamConsumer, type StreamMessage } from 'luanest/stream-consumer';
import { orderPlaced, type OrderPlaced } from './messages.js';

@Injectable()
export class Mailer {
  private readonly logger = new Logger(Mailer.name);

  /** A message is delivered at least once. `@Once` remembers the orders whose mail was sent, for a day. */
  @StreamConsumer({ stream: orderPlaced, group: 'mailer' })
  @Once({ id: ({ payload }: StreamMessage<OrderPlaced>) => payload.orderId })
  send({ payload: { orderId, email } }: StreamMessage<OrderPlaced>): void {
    this.logger.log(`Mail to ${email}: we have your order ${orderId}`);
  }
}
