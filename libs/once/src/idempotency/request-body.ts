import type { IncomingMessage } from 'node:http';
import { canonical, NotComparableError } from './canonical';

/** Properties of a request that both Express and Fastify have, unless noted. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
  /** Uploaded file; set by multer. `files` has several uploaded files. */
  readonly file?: unknown;
  readonly files?: unknown;
  /** Node's request. Fastify only. */
  readonly raw?: unknown;
}

/** Uploaded file as multer describes it. `buffer` has its bytes only with multer's memory storage. */
interface UploadedFile {
  readonly fieldname?: unknown;
  readonly originalname?: unknown;
  readonly mimetype?: unknown;
  readonly buffer?: unknown;
}

/**
 * Converts the body and the uploaded files of a request to text, so that a repeat can be compared with it.
 *
 * @throws NotComparableError if no parser has read the body yet, if a file is not in memory, or if a value cannot be compared
 * @throws RangeError for a body that is nested too deeply
 */
export function contentOf(request: HttpRequest): string | Promise<string> {
  const { body, file, files } = request;
  const hasFiles = isObject(file) || isObject(files);
  const empty =
    body === undefined || body === null || body === '' || (isObject(body) && Object.keys(body).length === 0);
  if (empty && !hasFiles && isUnread(request)) throw new NotComparableError('content that no parser has read');
  if (hasFiles) return canonical([body, [file, files].filter(isObject).map(describe)]);
  return body === undefined ? '' : canonical(body);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Returns what to compare of a file, of an array of files, or of an object with arrays of files by field. */
function describe(files: object): unknown {
  if (Array.isArray(files)) return files.map((file) => describe(file as object));
  const { fieldname, originalname, mimetype, buffer } = files as UploadedFile;
  if (typeof fieldname !== 'string') {
    return Object.fromEntries(Object.entries(files).map(([field, some]) => [field, describe(some as object)]));
  }
  if (!Buffer.isBuffer(buffer)) throw new NotComparableError('a file that is not in memory');
  return { fieldname, originalname, mimetype, buffer };
}

/** Returns true if the headers of a request announce a body, and no code has read the body to its end. */
function isUnread(request: HttpRequest): boolean {
  const raw = (request.raw ?? request) as Partial<IncomingMessage>;
  const { 'content-length': length, 'content-type': type, 'transfer-encoding': encoding } = request.headers;
  const announced =
    length === undefined ? encoding !== undefined || (raw.httpVersionMajor === 2 && type) : length !== '0';
  return Boolean(announced) && raw.readableEnded !== true;
}
