import { createHash, hash } from 'node:crypto';
import { BadRequestException } from '@nestjs/common';

/** What Express and Fastify requests have in common. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
}

const MAX_KEY_CHARS = 255;
const MAX_ID_CHARS = 512;

/**
 * The key of a request's header: a quoted string, as the draft has it, or the bare text that most clients send.
 *
 * @returns undefined when there is none, null when it is no key
 */
export function readKey(header: string | string[] | undefined): string | null | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string') return null;
  const text = header.trim();
  const key = text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  return key.length <= MAX_KEY_CHARS && /^[\x21\x23-\x2b\x2d-\x7e]+$/.test(key) ? key : null;
}

/** Texts as one from which each can be told: every one comes after its length. */
function joined(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += `${part.length}:${part}`;
  return text;
}

/** A digest that tells any two texts apart, lone surrogates too: UTF-8 would make one character of them all. */
function digest(text: string): string {
  return hash('sha256', text.isWellFormed() ? text : Buffer.from(text, 'utf16le'), 'base64url');
}

/** The id under which a subject's key is claimed; nobody else's key leads there. */
export function idOf(subject: string, key: string): string {
  const id = `http:${subject.length}:${subject}:${key}`;
  // An id may have 1,024 characters, and must be well-formed.
  return id.length <= MAX_ID_CHARS && id.isWellFormed() ? id : `http-hash:${digest(id)}`;
}

/**
 * What a request with the same key must equal: method, route with its parameters and query, subject, body.
 *
 * @throws BadRequestException for a body so deep that it cannot be written out
 */
export function fingerprintOf({ method, url, originalUrl, body }: HttpRequest, subject: string): string {
  const route = [method, originalUrl ?? url, subject, typeof body];
  if (Buffer.isBuffer(body)) return createHash('sha256').update(joined(route)).update(body).digest('base64url');
  return digest(joined([...route, typeof body === 'string' ? body : written(body)]));
}

/** JSON is read to any depth, but not written. */
function written(body: unknown): string {
  try {
    return JSON.stringify(body) ?? '';
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new BadRequestException('The body is nested too deeply. Send a flatter one.', { cause });
  }
}
