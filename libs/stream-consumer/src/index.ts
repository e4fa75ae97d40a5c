export { deadLetter, retryLater } from '../../internal/src';
export { StreamConsumer, StreamMessageParam, StreamPayload } from './stream-consumer.decorator';
export { StreamConsumerEvents } from './stream-consumer.events';
export { StreamConsumerModule } from './stream-consumer.module';
export type { StreamConsumerModuleOptions, StreamConsumerOptions } from './stream-consumer.options';
export { StreamConsumerService } from './stream-consumer.service';
export { PublishManyError } from './streams/publisher';
export { defineStream, type StreamDefinition } from './streams/stream-options';
export type {
  DeadLetter,
  HandlerResult,
  PublishMessage,
  PublishOptions,
  PublishResult,
  StreamConsumerHandle,
  StreamMessage,
  StreamStats,
} from './stream-consumer.types';
