import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** A file as a browser gets it. */
interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** Strong validator: the bytes' hash. */
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Every file of a folder, read once: there are few, they are small, and a request cannot name one outside. */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  return new Map(
    readdirSync(folder).map((name) => {
      const body = readFileSync(join(folder, name));
      const type = TYPES[extname(name)] ?? 'application/octet-stream';
      return [name, { type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }];
    }),
  );
}
