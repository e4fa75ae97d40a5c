import { hash } from 'node:crypto';
import { isArrayBuffer, isDate, isMap, isSet } from 'node:util/types';

/** Content that cannot be written as a canonical text: a stream, a circular object, a function, an instance of an unknown class. */
export class NotComparableError extends Error {}

/** Returns the SHA-256 of a text. Texts with different lone surrogates differ, too: UTF-8 would replace them all by U+FFFD. */
export function digest(text: string): string {
  return hash('sha256', text.isWellFormed() ? text : Buffer.from(text, 'utf16le'), 'base64url');
}

/**
 * Writes a value as a text. Equal values have the same text, and different values have different texts: JSON with sorted
 * keys, and notations of its own for bytes, BigInt, Map, Set, URLSearchParams, FormData and Blob.
 *
 * @returns a promise only if the content of a Blob or File must be read
 * @throws NotComparableError for a value that cannot be written, RangeError for a value that is nested too deeply
 */
export function canonical(value: unknown): string | Promise<string> {
  const writer = new Writer();
  const text = writer.write(value);
  if (writer.blobs.length === 0) return text;
  return Promise.all(writer.blobs).then((digests) => `${text} ${digests.join(' ')}`);
}

class Writer {
  /** Digests of the blobs, in the order in which they are found. */
  readonly blobs: Promise<string>[] = [];
  /** Objects that contain the present value: if one of them is found inside, it is circular. */
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
    if (!isPlain(value)) throw new NotComparableError(`a ${nameOf(value)}`);
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

/** Returns true for objects of literals and parsers, also of another realm. Other classes may hide a part of their content. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: object): string {
  const name: unknown = (value.constructor as { readonly name?: unknown } | undefined)?.name;
  return typeof name === 'string' && name !== '' ? name : 'object without a class';
}
