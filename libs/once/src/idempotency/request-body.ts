import type { IncomingMessage } from 'node:http';
import { canonical, NotComparableError } from './canonical';

/** Properties that requests of Express and of Fastify have. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
  /** Set by multer. */
  readonly file?: unknown;
  readonly files?: unknown;
  /** Node's request; Fastify only. */
  readonly raw?: unknown;
}

/** Uploaded file of multer. With memory storage it has the bytes in `buffer`. */
interface UploadedFile {
  readonly fieldname?: unknown;
  readonly originalname?: unknown;
  readonly mimetype?: unknown;
  readonly buffer?: unknown;
}

/**
 * Writes the body and the uploaded files of a request as a text that is the same only for equal content.
 *
 * @throws NotComparableError if the content is unknown here: no parser has read the body yet, or a file is not in memory
 * @throws RangeError for a body that is nested too deeply
 */
export function contentOf(request: HttpRequest): string | Promise<string> {
  const { body } = request;
  const files = [request.file, request.files].filter(isObject);
  const empty =
    body === undefined || body === null || body === '' || (isObject(body) && Object.keys(body).length === 0);
  if (empty && files.length === 0 && isUnread(request)) throw new NotComparableError('content that no parser has read');
  if (files.length > 0) return canonical([body, files.map(describe)]);
  return body === undefined ? '' : canonical(body);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Describes one file, an array of files, or arrays of files by field. */
function describe(files: object): unknown {
  if (Array.isArray(files)) return files.map((file) => describe(file as object));
  const { fieldname, originalname, mimetype, buffer } = files as UploadedFile;
  if (typeof fieldname !== 'string') {
    return Object.fromEntries(Object.entries(files).map(([field, some]) => [field, describe(some as object)]));
  }
  if (!Buffer.isBuffer(buffer)) throw new NotComparableError('a file that is not in memory');
  return { fieldname, originalname, mimetype, buffer };
}

/** Returns true if the headers announce a body that was not read to its end. */
function isUnread(request: HttpRequest): boolean {
  const raw = (request.raw ?? request) as Partial<IncomingMessage>;
  const { 'content-length': length, 'content-type': type, 'transfer-encoding': encoding } = request.headers;
  const announced =
    length === undefined ? encoding !== undefined || (raw.httpVersionMajor === 2 && type) : length !== '0';
  return Boolean(announced) && raw.readableEnded !== true;
}
