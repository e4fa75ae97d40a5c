import { createHash } from 'node:crypto';
import { ClientProxy, type MsPattern } from '@nestjs/microservices';
import { defineStream, type StreamDefinition } from 'luanest/stream-consumer';
import { InvalidInputError } from '../../internal/src';

/** Largest message of a stream of this lib, and largest part of a reply, bytes of JSON. */
export const MAX_BYTES = 1_048_576;
/** Maximum number of events of a pattern that some group has not settled. */
const MAX_EVENTS = 1_000_000;
/** Maximum number of requests of a pattern that wait. Without a server, they would wait for ever. */
const MAX_REQUESTS = 10_000;
/** Longest encoded pattern. With the longest prefix, it is the name of a stream of 100 characters. */
const MAX_PATTERN = 87;

const EVENTS = 'nest.event.';
const REQUESTS = 'nest.request.';
/** The group of all servers of a request: one of them handles it, in whichever service. */
export const SERVERS = 'servers';

/** Out-of-band texts of a packet, which a hook of a Nest client sets, such as the id of a trace. */
export type PacketMetadata = Readonly<Record<string, string>>;

/** Payload of the messages of an event's stream. */
export interface EventPayload<Data = unknown> {
  /** The payload of the handler. */
  readonly data: Data;
  /** Texts that a tracer has added. Default: none. */
  readonly metadata?: PacketMetadata;
}

/** Payload of the messages of a request's stream. */
export interface RequestPayload extends EventPayload {
  /** Name of the client that waits, which names the channel of its replies. */
  readonly client: string;
  /** Id of the request, unique for the client. */
  readonly id: string;
  /** How long the client waits after the request was added to the stream, ms. */
  readonly timeoutMs: number;
}

/** Returns a pattern as Nest writes it: text as it is, an object as JSON with sorted names. */
export function routeOf(pattern: MsPattern): string {
  return String(ClientProxy.prototype['normalizePattern'](pattern));
}

/**
 * Writes a pattern with the characters of a stream's name: each byte other than an ASCII letter or digit, `.`, `_` or `-` as `:` and two hex
 * digits. A pattern that is too long for that becomes `::` and its SHA-256, which no other pattern's name begins with.
 */
function encode(route: string): string {
  if (!route.isWellFormed()) throw new InvalidInputError('The pattern is not well-formed Unicode.');
  const bytes = Buffer.from(route).toString('latin1');
  const name = bytes.replace(/[^\w.-]/g, (byte) => `:${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return name.length <= MAX_PATTERN ? name : `::${createHash('sha256').update(route).digest('hex')}`;
}

/**
 * Returns the stream of the events of a pattern, for StreamConsumerService and OutboxService: dead letters, numbers, pauses, and to
 * publish `{ data }` without a `StreamClient`.
 *
 * @param pattern as of `@EventPattern`
 * @throws InvalidInputError if the pattern is not well-formed Unicode
 */
export function eventStream<Data = unknown>(pattern: MsPattern): StreamDefinition<EventPayload<Data>> {
  const name = EVENTS + encode(routeOf(pattern));
  return defineStream({ name, maxLength: MAX_EVENTS, maxPayloadBytes: MAX_BYTES });
}

/** Returns the stream of the requests of a pattern. @throws as `eventStream` */
export function requestStream(pattern: MsPattern): StreamDefinition<RequestPayload> {
  const name = REQUESTS + encode(routeOf(pattern));
  return defineStream({ name, maxLength: MAX_REQUESTS, maxPayloadBytes: MAX_BYTES });
}

/** Returns true for the name of a stream of events. */
export function isEventStream(name: string): boolean {
  return name.startsWith(EVENTS);
}
