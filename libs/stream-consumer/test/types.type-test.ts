// Compiled, never run: each `@ts-expect-error` fails the type check when the line below it compiles.
import { applyDecorators } from '@nestjs/common';
import {
  commit,
  deadLetter,
  retryLater,
  StreamConsumer,
  StreamMessageParam,
  StreamPayload,
  type HandlerResult,
  type StreamConsumerService,
  type StreamMessage,
} from 'luanest/stream-consumer';

interface SentMail {
  readonly accepted: readonly string[];
}
interface Order {
  readonly id: string;
}

declare function send(order: Order): Promise<SentMail>;
declare function pending(): boolean;
declare const streams: StreamConsumerService;

const handler = { stream: 'orders', group: 'mails' };

export class Compiles {
  @StreamConsumer(handler)
  nothing(): void {
    pending();
  }
  @StreamConsumer(handler)
  async later({ payload }: StreamMessage<Order>): Promise<void> {
    await send(payload);
  }
  @StreamConsumer(handler)
  async outcome({ payload }: StreamMessage<Order>): Promise<HandlerResult> {
    await send(payload);
    if (pending()) return retryLater({ delayMs: 1_000, countsAsAttempt: false });
    return payload.id === '' ? deadLetter('no id') : commit();
  }
  @StreamConsumer(handler)
  inferred(@StreamPayload('id') id: string, @StreamMessageParam() { attempt }: StreamMessage) {
    return attempt > 1 && id === '' ? deadLetter('no id') : undefined;
  }
  @applyDecorators(StreamConsumer(handler) as MethodDecorator)
  composed(): void {
    pending();
  }
}

export class DoesNotCompile {
  // @ts-expect-error resolves with what is not an outcome
  @StreamConsumer(handler)
  mail({ payload }: StreamMessage<Order>): Promise<SentMail> {
    return send(payload);
  }
  // @ts-expect-error returns what is not an outcome
  @StreamConsumer(handler)
  flag(): boolean {
    return pending();
  }
  // @ts-expect-error may resolve with what is not an outcome
  @StreamConsumer(handler)
  async either({ payload }: StreamMessage<Order>) {
    if (pending()) return retryLater({ delayMs: 1 });
    return send(payload);
  }
  // @ts-expect-error a delay is an option
  later = () => retryLater(5);
}

export async function consumes(): Promise<void> {
  await streams.consume<Order>(handler, () => commit());
  // @ts-expect-error resolves with what is not an outcome
  await streams.consume<Order>(handler, ({ payload }) => send(payload));
}
