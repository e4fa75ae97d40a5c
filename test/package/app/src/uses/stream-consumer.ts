import { setTimeout } from 'node:timers/promises';
import {
  Catch,
  Injectable,
  Module,
  UseFilters,
  type ExceptionFilter,
  type INestApplicationContext,
} from '@nestjs/common';
import {
  deadLetter,
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { Signal } from '../signal.js';

@Catch()
class Bounces implements ExceptionFilter<Error> {
  catch(error: Error): unknown {
    return deadLetter(`bounced: ${error.message}`);
  }
}

@Injectable()
class Mails {
  readonly sent = new Signal<string>();

  @UseFilters(Bounces)
  @StreamConsumer({ stream: 'orders', group: 'mails' })
  send({ payload, attempt }: StreamMessage<{ email: string }>): void {
    if (payload.email === '') throw new Error('no address');
    this.sent.tell(`${payload.email} at attempt ${attempt}`);
  }
}

@Module({ imports: [StreamConsumerModule.forRoot({})], providers: [Mails] })
export class StreamConsumerUse {}

export async function useStreamConsumer(app: INestApplicationContext): Promise<string> {
  const streams = app.get(StreamConsumerService);
  const published = await streams.publish('orders', { email: 'ann@example.com' }, { operationId: 'ordered-1' });
  const handled = await app.get(Mails).sent.told;
  await streams.publish('orders', { email: '' });
  return `${published.status}, handled ${handled}, ${await bounced(streams)}`;
}

async function bounced(streams: StreamConsumerService): Promise<string> {
  for (;;) {
    const { items } = await streams.deadLetters('orders', 'mails');
    if (items[0]) return items[0].error;
    await setTimeout(20);
  }
}
