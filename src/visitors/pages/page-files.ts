import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** Strong validator: a hash of the content. */
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads all files of a folder into memory, by name. So a request cannot read a file outside the folder. */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  return new Map(
    readdirSync(folder).map((name) => {
      const body = readFileSync(join(folder, name));
      const type = TYPES[extname(name)] ?? 'application/octet-stream';
      return [name, { type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }];
    }),
  );
}
