import { createHash } from 'node:crypto';
import { ClientProxy, type MsPattern } from '@nestjs/microservices';
import { defineStream, type StreamDefinition } from 'luanest/stream-consumer';
import { InvalidInputError } from '../../internal/src';

/** Maximum size of an event, a request or a part of a reply, as JSON, bytes. */
export const MAX_BYTES = 1_048_576;
/** Maximum number of events of a pattern in Redis. An event stays there until all groups have settled it. */
const MAX_EVENTS = 1_000_000;
/** Maximum number of waiting requests of a pattern. Without a limit, they would collect in Redis while no server runs. */
const MAX_REQUESTS = 10_000;
/**
 * Maximum length of an encoded pattern, characters. Together with the longest prefix, `nest.request.`, it fills the 100 characters of a
 * stream's name.
 */
const MAX_PATTERN = 87;

const EVENTS = 'nest.event.';
const REQUESTS = 'nest.request.';
/** Name of the group in which all servers handle requests. Each request goes to one server of this group, in any microservice. */
export const SERVERS = 'servers';

/** Metadata of a packet, which a hook of a Nest client adds next to the payload, such as a trace id. */
export type PacketMetadata = Readonly<Record<string, string>>;

/** Payload of a message in the stream of an event. */
export interface EventPayload<Data = unknown> {
  /** Payload that the handler gets. */
  readonly data: Data;
  /** Metadata that the client added, such as a trace id. Default: none. */
  readonly metadata?: PacketMetadata;
}

/** Payload of a message in the stream of a request. */
export interface RequestPayload extends EventPayload {
  /** Name of the client that waits for the reply. The channel of the reply is made from this name. */
  readonly client: string;
  /** Id of the request, unique for the client. */
  readonly id: string;
  /** How long the client waits after the request was added to the stream, ms. */
  readonly timeoutMs: number;
}

/** Converts a pattern to text as Nest does: a string stays as it is, an object becomes JSON with sorted property names. */
export function routeOf(pattern: MsPattern): string {
  return String(ClientProxy.prototype['normalizePattern'](pattern));
}

/**
 * Encodes a pattern with the characters that a stream's name may have. An ASCII letter or digit, `.`, `_` and `-` stay; each other byte
 * becomes `:` and two hex digits. A pattern that would be too long becomes `::` and its SHA-256. No other encoded pattern begins with
 * `::`.
 */
function encode(route: string): string {
  if (!route.isWellFormed()) throw new InvalidInputError('The pattern is not well-formed Unicode.');
  const bytes = Buffer.from(route).toString('latin1');
  const name = bytes.replace(/[^\w.-]/g, (byte) => `:${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return name.length <= MAX_PATTERN ? name : `::${createHash('sha256').update(route).digest('hex')}`;
}

/**
 * Returns the stream in which the events of a pattern are stored. Pass the result to StreamConsumerService, such as for dead letters,
 * statistics and pauses. To publish an event without a `StreamClient`, publish `{ data }` to this stream with StreamConsumerService or
 * OutboxService.
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

/** Returns true if a stream with this name holds events, false if it holds requests. */
export function isEventStream(name: string): boolean {
  return name.startsWith(EVENTS);
}
