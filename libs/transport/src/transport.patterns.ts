import { createHash } from 'node:crypto';
import { ClientProxy, type MsPattern } from '@nestjs/microservices';
import { defineStream, type StreamDefinition } from 'luanest/stream-consumer';
import { InvalidInputError } from '../../internal/src';

/** Maximum size of an event, a request or a part of a reply, as JSON, bytes. */
export const MAX_BYTES = 1_048_576;
/** Maximum number of events per pattern in Redis. Redis keeps an event until all groups have handled it. */
const MAX_EVENTS = 1_000_000;
/** Maximum number of waiting requests per pattern. Without a limit, requests would pile up in Redis while no server runs. */
const MAX_REQUESTS = 10_000;
/**
 * Maximum length of an encoded pattern, characters. The name of a stream has at most 100 characters, of which the prefix `nest.request.`
 * takes 13.
 */
const MAX_PATTERN = 87;

const EVENTS = 'nest.event.';
const REQUESTS = 'nest.request.';
/** Group in which all servers handle requests, in any microservice, so that each request goes to one server. */
export const SERVERS = 'servers';

/** Metadata that a hook of a Nest client adds to an event or a request, such as a trace id. */
export type PacketMetadata = Readonly<Record<string, string>>;

/** Form in which an event is stored as a message of a stream. */
export interface EventPayload<Data = unknown> {
  /** Data that the handler gets as its payload. */
  readonly data: Data;
  /** Metadata that the client has added, such as a trace id. Default: none. */
  readonly metadata?: PacketMetadata;
}

/** Message that stands for a request in its stream. */
export interface RequestPayload extends EventPayload {
  /** Name of the client that waits for the reply. The name of the reply channel contains it. */
  readonly client: string;
  /** Id of the request, unique within the client. */
  readonly id: string;
  /** Time for which the client waits, ms, counted from the time when the stream got the request. */
  readonly timeoutMs: number;
}

/** Converts a pattern to text as Nest does: a string stays as it is, an object becomes JSON with sorted property names. */
export function routeOf(pattern: MsPattern): string {
  return String(ClientProxy.prototype['normalizePattern'](pattern));
}

/**
 * Encodes a pattern for use in the name of a stream. ASCII letters, digits, `.`, `_` and `-` stay; any other byte becomes `:` and two hex
 * digits. A pattern that is too long for that becomes `::` and its SHA-256.
 */
function encode(route: string): string {
  if (!route.isWellFormed())
    throw new InvalidInputError('The pattern of a message is not well-formed Unicode. Correct the pattern.');
  const bytes = Buffer.from(route).toString('latin1');
  const name = bytes.replace(/[^\w.-]/g, (byte) => `:${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return name.length <= MAX_PATTERN ? name : `::${createHash('sha256').update(route).digest('hex')}`;
}

/**
 * Returns the stream that holds the events of a pattern. Use it with StreamConsumerService, such as for dead letters, statistics and
 * pauses. To publish an event without a `StreamClient`, publish `{ data }` to this stream with StreamConsumerService or OutboxService.
 *
 * @param pattern the same pattern as in `@EventPattern`
 * @throws InvalidInputError if the pattern is not well-formed Unicode
 */
export function eventStream<Data = unknown>(pattern: MsPattern): StreamDefinition<EventPayload<Data>> {
  const name = EVENTS + encode(routeOf(pattern));
  return defineStream({ name, maxLength: MAX_EVENTS, maxPayloadBytes: MAX_BYTES });
}

/** Returns the stream in which the requests of a pattern wait. @throws InvalidInputError as `eventStream` does */
export function requestStream(pattern: MsPattern): StreamDefinition<RequestPayload> {
  const name = REQUESTS + encode(routeOf(pattern));
  return defineStream({ name, maxLength: MAX_REQUESTS, maxPayloadBytes: MAX_BYTES });
}

/** Returns true if a stream holds events, and false if it holds requests. */
export function isEventStream(name: string): boolean {
  return name.startsWith(EVENTS);
}
