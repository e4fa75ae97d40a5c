import { type ScriptRegistry } from 'luanest/script-registry';
import { shown, spread, UniqueIds } from '../../../internal/src';
import { InvalidStreamInputError } from '../stream-consumer.errors';
import type { PublishMessage, PublishResult } from '../stream-consumer.types';
import { publishMessage } from './streams.scripts';

import type { Stream } from './stream-catalog';

const MAX_TEXT = 256;
/** How long ids of our own are remembered, ms: they need to outlast only what a client sends again by itself. */
const OWN_TTL_MS = 60_000;
const FULL = 0;
const REPEATED = 2;

/** Keys are sorted by what follows a control character, so they must have none. */
const CONTROL = /\p{Cc}/u;

function checkText(what: string, text: string): string {
  if (
    typeof text === 'string' &&
    text !== '' &&
    text.length <= MAX_TEXT &&
    !CONTROL.test(text) &&
    text.isWellFormed()
  ) {
    return text;
  }
  throw new InvalidStreamInputError(
    `${what} is ${shown(text)}. Expected 1 to ${MAX_TEXT} characters without control characters.`,
  );
}

/** A payload as JSON. @throws InvalidStreamInputError when JSON cannot carry it, or it is too large */
function jsonOf(payload: unknown, maxBytes: number): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (cause) {
    throw new InvalidStreamInputError(`The payload cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (json === undefined) {
    throw new InvalidStreamInputError(
      `The payload is ${typeof payload}, which JSON cannot carry. Publish null, or an object.`,
    );
  }
  // No character takes more than 3 bytes.
  if (json.length * 3 > maxBytes && Buffer.byteLength(json) > maxBytes) {
    throw new InvalidStreamInputError(
      `The payload has ${Buffer.byteLength(json)} bytes as JSON, above maxPayloadBytes, ${maxBytes}. Publish where it is kept instead.`,
    );
  }
  return json;
}

/** Writes messages to streams. */
export class Publisher {
  // Ids of the caller and our own must never meet: each kind has a first letter of its own.
  private readonly operationIds = new UniqueIds('p');

  constructor(private readonly registry: ScriptRegistry) {}

  /** @throws InvalidStreamInputError, errors of the registry */
  async publish(stream: Stream, message: PublishMessage): Promise<PublishResult> {
    if (typeof message !== 'object' || (message as unknown) === null) {
      throw new InvalidStreamInputError(`The message is ${shown(message)}. Expected { payload, key?, operationId? }.`);
    }
    const { payload, key, operationId } = message;
    const { maxPayloadBytes, operationTtlMs, maxLength, partitions } = stream.options;
    if (stream.isForeign) {
      throw new InvalidStreamInputError(
        `Stream ${stream.name} is of another program, so only that can tell when it may be made. Add entries by XADD.`,
      );
    }
    const json = jsonOf(payload, maxPayloadBytes);
    if (key !== undefined) checkText('key', key);
    const name = operationId === undefined ? '' : checkText('operationId', operationId);
    const operation = name === '' ? this.operationIds.next() : `c${name}`;
    const retainMs = name === '' ? Math.min(operationTtlMs, OWN_TTL_MS) : operationTtlMs;
    if (!stream.announced) await stream.announce();
    const partition = stream.partition(partitions === 1 ? 0 : spread(key ?? operation) % partitions);
    const { status, id } = await this.registry.run(publishMessage, {
      keys: { stream: partition.stream, waiters: partition.waiters, operation: partition.operation(operation) },
      args: { payload: json, key: key ?? '', name, retainMs, maxLength },
    });
    if (status === FULL) return { status: 'full', length: Number(id) };
    return { status: 'published', id: `${partition.index}:${id}`, replayed: status === REPEATED };
  }
}
