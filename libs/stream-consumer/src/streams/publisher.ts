import { type ScriptRegistry } from 'luanest/script-registry';
import { classOf, shown, spread, UniqueIds, InvalidInputError } from '../../../internal/src';
import type { PublishMessage, PublishResult } from '../stream-consumer.types';
import type { Stream } from './stream-catalog';
import { publishMessage } from './streams.scripts';

/** Longest key or operation id, characters. */
const MAX_TEXT = 256;
/** Longest time that operation ids that luanest made are remembered, ms. A client must not send a call again later than that. */
const OWN_TTL_MS = 60_000;
const FULL = 0;
const REPLAYED = 2;

const CONTROL = /\p{Cc}/u;

function checkText(what: string, text: unknown): string {
  if (
    typeof text === 'string' &&
    text !== '' &&
    text.length <= MAX_TEXT &&
    !CONTROL.test(text) &&
    text.isWellFormed()
  ) {
    return text;
  }
  throw new InvalidInputError(
    `${what} is ${shown(text)}. Expected 1 to ${MAX_TEXT} characters of well-formed text, without control characters.`,
  );
}

/** Returns a payload as JSON. @throws InvalidInputError if JSON cannot hold the payload, or the payload is too large */
function jsonOf(payload: unknown, maxBytes: number): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (cause) {
    throw new InvalidInputError(`The payload cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (json === undefined) {
    throw new InvalidInputError(
      `The payload is ${classOf(payload)}, for which JSON.stringify() returns undefined. Publish a value that JSON can hold.`,
    );
  }
  // A UTF-16 unit has at most 3 bytes in UTF-8, so short text need not be measured.
  if (json.length * 3 > maxBytes && Buffer.byteLength(json) > maxBytes) {
    throw new InvalidInputError(
      `The payload has ${Buffer.byteLength(json)} bytes as JSON. maxPayloadBytes allows ${maxBytes}. ` +
        `Store the data elsewhere and publish where it is.`,
    );
  }
  return json;
}

/** Writes messages to streams. */
export class Publisher {
  // In Redis, operation ids of callers begin with c and ids that luanest makes with p, so the two kinds never collide.
  private readonly operationIds = new UniqueIds('p');

  constructor(private readonly registry: ScriptRegistry) {}

  /** Publishes a message. @throws InvalidInputError; the errors of ScriptRegistry.run() */
  async publish(stream: Stream, message: PublishMessage): Promise<PublishResult> {
    if (typeof message !== 'object' || (message as unknown) === null) {
      throw new InvalidInputError(`The message is ${shown(message)}. Expected { payload, key?, operationId? }.`);
    }
    const { payload, key, operationId } = message;
    const { maxPayloadBytes, operationRetentionMs, maxLength, partitions } = stream.options;
    if (stream.isForeign) {
      throw new InvalidInputError(
        `Stream ${stream.name} is defined with the option keys, so another program writes it. Add entries with XADD.`,
      );
    }
    const json = jsonOf(payload, maxPayloadBytes);
    if (key !== undefined) checkText('key', key);
    const name = operationId === undefined ? '' : checkText('operationId', operationId);
    const operation = name === '' ? this.operationIds.next() : `c${name}`;
    const retainMs = name === '' ? Math.min(operationRetentionMs, OWN_TTL_MS) : operationRetentionMs;
    if (!stream.announced) await stream.announce();
    const partition = stream.partition(partitions === 1 ? 0 : spread(key ?? operation) % partitions);
    const { status, id } = await this.registry.run(publishMessage, {
      keys: { stream: partition.stream, woken: partition.woken, operation: partition.operation(operation) },
      args: { payload: json, key: key ?? '', name, retainMs, maxLength },
    });
    if (status === FULL) return { status: 'full', length: Number(id) };
    return { status: 'published', id: `${partition.index}:${id}`, replayed: status === REPLAYED };
  }
}
