// Compiled, never run: each `@ts-expect-error` fails the type check when the line below it compiles.
import { applyDecorators } from '@nestjs/common';
import {
  deadLetter,
  defineStream,
  retryLater,
  StreamConsumer,
  StreamMessageParam,
  StreamPayload,
  type HandlerResult,
  type StreamDefinition,
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

interface Payment {
  readonly cents: number;
}

const handler = { stream: 'orders', group: 'mails' };
const orders = defineStream<Order>({ name: 'orders', partitions: 2 });
const typed = { stream: orders, group: 'mails' };

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
    return payload.id === '' ? deadLetter('no id') : undefined;
  }
  @StreamConsumer(handler)
  inferred(@StreamPayload('id') id: string, @StreamMessageParam() { attempt }: StreamMessage) {
    return attempt > 1 && id === '' ? deadLetter('no id') : undefined;
  }
  @StreamConsumer(typed)
  async typed({ payload }: StreamMessage<Order>): Promise<void> {
    await send(payload);
  }
  @StreamConsumer(typed)
  property(@StreamPayload('id') id: string): HandlerResult {
    return id === '' ? deadLetter('no id') : undefined;
  }
  @applyDecorators(StreamConsumer(handler) as MethodDecorator)
  composed(): void {
    pending();
  }
}

const batches = { ...typed, batch: { size: 10 } };

export class CompilesWithBatches {
  @StreamConsumer(batches)
  async all(messages: readonly StreamMessage<Order>[]): Promise<void> {
    for (const { payload } of messages) await send(payload);
  }
  @StreamConsumer(batches)
  each(messages: StreamMessage<Order>[]) {
    return messages.map(({ payload }) => (payload.id === '' ? deadLetter('no id') : undefined));
  }
  @StreamConsumer({ ...handler, batch: { size: 10 } })
  one(@StreamPayload('id') ids: string[]): HandlerResult {
    return ids.length > 5 ? retryLater({ delayMs: 1 }) : undefined;
  }
}

export class DoesNotCompileWithBatches {
  // @ts-expect-error returns what are not outcomes
  @StreamConsumer(batches)
  flags(messages: readonly StreamMessage<Order>[]): boolean[] {
    return messages.map(() => pending());
  }
  // @ts-expect-error gets one message
  @StreamConsumer(batches)
  single({ payload }: StreamMessage<Order>): Promise<void> {
    return send(payload).then(() => undefined);
  }
  // @ts-expect-error is for messages of another stream
  @StreamConsumer(batches)
  payments(messages: readonly StreamMessage<Payment>[]): void {
    if (messages.length > 0) pending();
  }
  // @ts-expect-error gets batches without the option
  @StreamConsumer(handler)
  several(messages: readonly StreamMessage[]): void {
    if (messages.length > 0) pending();
  }
  // @ts-expect-error returns several outcomes for one message
  @StreamConsumer(handler)
  outcomes(): HandlerResult[] {
    return [];
  }
}

export async function consumesBatches(): Promise<void> {
  await streams.handle(batches, (messages) => messages.map(({ payload }) => void payload.id));
  await streams.handle(batches, async ([first]) => void (await Promise.resolve(first?.payload.id)));
  // @ts-expect-error gets an array
  await streams.handle(batches, ({ payload }) => void payload);
  // @ts-expect-error gets one message
  await streams.handle(typed, (messages: readonly StreamMessage<Order>[]) => void messages.length);
  // @ts-expect-error resolves with what are not outcomes
  await streams.handle(batches, async (messages) => Promise.all(messages.map(({ payload }) => send(payload))));
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
  // @ts-expect-error is for messages of another stream
  @StreamConsumer(typed)
  payment({ payload }: StreamMessage<Payment>): void {
    if (payload.cents > 0) pending();
  }
  // @ts-expect-error a delay is an option
  later = () => retryLater(5);
}

export async function consumes(): Promise<void> {
  await streams.handle<Order>(handler, () => undefined);
  // @ts-expect-error resolves with what is not an outcome
  await streams.handle<Order>(handler, ({ payload }) => send(payload));
}

export async function usesTypedStreams(): Promise<void> {
  await streams.publish(orders, { id: '1' });
  await streams.publish(orders, { id: '1' }, { key: '1' });
  await streams.publish('orders', { cents: 1 });
  await streams.publishMany(orders, [{ payload: { id: '1' } }]);
  await streams.handle(typed, ({ payload }) => void payload.id);
  await streams.handle({ stream: 'orders', group: 'mails' }, ({ payload }: StreamMessage<Order>) => void payload.id);
  await streams.stats(orders, 'mails');
  await streams.replayAll(orders, 'mails', { diedFromAtMs: 0 });
  // @ts-expect-error is not an order
  await streams.publish(orders, { cents: 1 });
  // @ts-expect-error a payload is missing
  await streams.publishMany(orders, [{ key: '1' }]);
  // @ts-expect-error is not an order
  await streams.publishMany(orders, [{ payload: { cents: 1 } }]);
  // @ts-expect-error an order has no cents
  await streams.handle(typed, ({ payload }) => void payload.cents);
  // @ts-expect-error is for messages of another stream
  await streams.handle(typed, ({ payload }: StreamMessage<Payment>) => void payload.cents);
  // @ts-expect-error one stream does not replace another
  const payments: StreamDefinition<Payment> = orders;
  await streams.stats(payments, 'mails');
  // @ts-expect-error a stream needs a name
  defineStream<Order>({ partitions: 2 });
}
