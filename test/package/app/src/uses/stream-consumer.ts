import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import {
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { Signal } from '../signal.js';

@Injectable()
class Mails {
  readonly sent = new Signal<string>();

  @StreamConsumer({ stream: 'orders', group: 'mails' })
  send({ payload, attempt }: StreamMessage<{ email: string }>): void {
    this.sent.tell(`${payload.email} at attempt ${attempt}`);
  }
}

@Module({ imports: [StreamConsumerModule.forRoot({})], providers: [Mails] })
export class StreamConsumerUse {}

export async function useStreamConsumer(app: INestApplicationContext): Promise<string> {
  const streams = app.get(StreamConsumerService);
  const published = await streams.publish('orders', { email: 'ann@example.com' }, { operationId: 'ordered-1' });
  const handled = await app.get(Mails).sent.told;
  return `${published.status}, handled ${handled}`;
}
