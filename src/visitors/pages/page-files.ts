import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { acceptedOf } from '../../platform/compression';

type Encoding = 'br' | 'gzip';

interface Body {
  /** Undefined: as the file is. */
  readonly encoding?: Encoding;
  readonly bytes: Buffer;
  /** Strong validator: a hash of the content, and the encoding. */
  readonly etag: string;
}

interface PageFile {
  readonly type: string;
  /** Returns the shortest body that a request accepts. @param accepted value of the header `accept-encoding` */
  bodyFor(accepted: string | undefined): Body;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads all files of a folder into memory, by name, and compresses them. So a request cannot read a file outside the folder. */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  return new Map(readdirSync(folder).map((name) => [name, pageFile(name, readFileSync(join(folder, name)))]));
}

function pageFile(name: string, bytes: Buffer): PageFile {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const plain: Body = { bytes, etag: `"${hash}"` };
  const packed: Record<Encoding, Body> = {
    br: { encoding: 'br', bytes: brotliCompressSync(bytes), etag: `"${hash}-br"` },
    gzip: { encoding: 'gzip', bytes: gzipSync(bytes), etag: `"${hash}-gzip"` },
  };
  const bodyFor = (accepted: string | undefined): Body => {
    const encoding = acceptedOf(accepted, ['br', 'gzip'] as const);
    const body = encoding === undefined ? plain : packed[encoding];
    return body.bytes.length < bytes.length ? body : plain;
  };
  return { type: TYPES[extname(name)] ?? 'application/octet-stream', bodyFor };
}
