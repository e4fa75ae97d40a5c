export { StreamClient } from './transport.client';
export { StreamContext } from './transport.context';
export { StreamExceptionFilter } from './transport.filter';
export type {
  StreamClientOptions,
  StreamEventExtras,
  StreamRequestExtras,
  StreamServerOptions,
} from './transport.options';
export { eventStream, type EventPayload } from './transport.patterns';
export { StreamRecord } from './transport.record';
export { StreamServer, STREAM_TRANSPORT } from './transport.server';
