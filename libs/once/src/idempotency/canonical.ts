import { hash } from 'node:crypto';
import { isArrayBuffer, isDate, isMap, isSet } from 'node:util/types';

/**
 * Error for content that cannot be compared, such as a stream, a circular object, a function or an instance of an unknown class. The
 * message completes the sentence "A request has ..., which cannot be compared".
 */
export class NotComparableError extends Error {}

/**
 * Returns the SHA-256 of a text. A text with a lone surrogate is hashed as UTF-16, because in UTF-8 all lone surrogates become
 * U+FFFD, and then different texts would have the same hash.
 */
export function digest(text: string): string {
  return hash('sha256', text.isWellFormed() ? text : Buffer.from(text, 'utf16le'), 'base64url');
}

/**
 * Converts a value to text, so that two values can be compared by their texts. The text is JSON with sorted keys, extended for bytes,
 * BigInt, Map, Set, URLSearchParams, FormData and Blob.
 *
 * Some different values have the same text, such as undefined and null in an array, or a Date and its string. The order of the entries of a
 * Map, Set, URLSearchParams or FormData is part of the text.
 *
 * @returns the text; a promise of the text if the content of a Blob or File must be read
 * @throws NotComparableError for a value that cannot be converted, RangeError for a value that is nested too deeply
 */
export function canonical(value: unknown): string | Promise<string> {
  const writer = new Writer();
  const text = writer.write(value);
  if (writer.blobs.length === 0) return text;
  return Promise.all(writer.blobs).then((digests) => `${text} ${digests.join(' ')}`);
}

class Writer {
  /** Hashes of the contents of the blobs, in the order in which the blobs are found. */
  readonly blobs: Promise<string>[] = [];
  /** Objects inside which the conversion is at the moment. Finding one of them again proves a circular object. */
  private readonly open = new Set<object>();

  write(value: unknown): string {
    switch (typeof value) {
      case 'string':
        return JSON.stringify(value);
      case 'number':
        return value === 0 ? '0' : String(value);
      case 'boolean':
        return String(value);
      case 'bigint':
        return `${value}n`;
      case 'undefined':
        return 'null';
      case 'object':
        return value === null ? 'null' : this.writeObject(value);
      case 'function':
      case 'symbol':
        throw new NotComparableError(`a ${typeof value}`);
    }
  }

  private writeObject(value: object): string {
    if (ArrayBuffer.isView(value)) return bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    if (isArrayBuffer(value)) return bytes(new Uint8Array(value));
    if (isDate(value)) return this.write(value.toJSON());
    if (this.open.has(value)) throw new NotComparableError('a circular object');
    this.open.add(value);
    const text = this.writeParts(value);
    this.open.delete(value);
    return text;
  }

  private writeParts(value: object): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.write(item)).join()}]`;
    if (isMap(value)) return `map${this.pairs(value)}`;
    if (isSet(value)) return `set[${[...value].map((item) => this.write(item)).join()}]`;
    if (value instanceof URLSearchParams) return `params${this.pairs(value)}`;
    if (value instanceof FormData) return `form${this.pairs(value)}`;
    if (value instanceof Blob) return this.writeBlob(value);
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') return this.write(toJSON.call(value));
    if (!isPlain(value)) throw new NotComparableError(nameOf(value));
    let text = '';
    for (const key of Object.keys(value).sort()) {
      const field = (value as Record<string, unknown>)[key];
      if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${this.write(field)}`;
    }
    return `{${text}}`;
  }

  private pairs(entries: Iterable<readonly [unknown, unknown]>): string {
    return `[${[...entries].map(([key, item]) => `${this.write(key)}:${this.write(item)}`).join()}]`;
  }

  private writeBlob(blob: Blob): string {
    this.blobs.push(blob.arrayBuffer().then((content) => hash('sha256', new Uint8Array(content), 'base64url')));
    const { name = '' } = blob as { readonly name?: string };
    return `blob(${JSON.stringify(name)},${JSON.stringify(blob.type)},${blob.size})`;
  }
}

function bytes(content: Uint8Array): string {
  return `bytes(${hash('sha256', content, 'base64url')})`;
}

/**
 * Returns true for an object that a literal or a parser has made, even in another realm (such as a `vm` context). An instance of any other
 * class may hide a part of its content.
 */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: object): string {
  const name: unknown = (value.constructor as { readonly name?: unknown } | undefined)?.name;
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an instance of an unknown class';
}
