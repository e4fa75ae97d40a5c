import { createHash } from 'node:crypto';

/** What Express and Fastify requests have in common. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
}

const MAX_KEY_CHARS = 255;

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

/** Hashes parts so that no two lists of parts meet: each is preceded by its length. */
function digest(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('base64url');
}

/** The id under which a subject's key is claimed; nobody else's key leads there. */
export function idOf(subject: string, key: string): string {
  return `idempotency-key:${digest([subject, key])}`;
}

/** What a request with the same key must equal: method, route with its parameters and query, subject, body. */
export function fingerprintOf({ method, url, originalUrl, body }: HttpRequest, subject: string): string {
  const content = Buffer.isBuffer(body) || typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  return digest([method, originalUrl ?? url, subject, typeof body, content]);
}
