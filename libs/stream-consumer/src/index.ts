export {
  Commit,
  commit,
  DeadLetter,
  deadLetter,
  RetryLater,
  retryLater,
  type RetryLaterOptions,
} from './handlers/outcome';
export {
  StreamConsumer,
  StreamMessageParam,
  StreamPayload,
  type StreamConsumerDecorator,
  type StreamHandlerMethod,
} from './stream-consumer.decorator';
export {
  HandlerTimeoutError,
  InvalidOutcomeError,
  InvalidStreamInputError,
  MalformedPayloadError,
  MessageLostError,
  StreamConsumerClosedError,
  StreamConsumerSetupError,
} from './stream-consumer.errors';
export {
  STREAM_CONSUMER_CHANNELS,
  type MessageDeadEvent,
  type MessageRetriedEvent,
  type MessagesLostEvent,
  type StreamErrorEvent,
  type StreamStatsEvent,
  type TakenOverEvent,
} from './stream-consumer.events';
export { StreamConsumerModule, type StreamConsumerModuleExtras } from './stream-consumer.module';
export type {
  ConsumerDefaults,
  StreamConsumerModuleOptions,
  StreamConsumerOptions,
  StreamOptions,
} from './stream-consumer.options';
export { StreamConsumerService } from './stream-consumer.service';
export { PublishManyError, type PublishManyState } from './streams/publish-many';
export type {
  DeadLetterPage,
  DeadLetterRecord,
  HandlerResult,
  PublishMessage,
  PublishResult,
  PublishSource,
  StreamConsumerHandle,
  StreamHandler,
  StreamMessage,
  StreamStats,
} from './stream-consumer.types';
