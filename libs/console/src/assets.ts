import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { SetupError, shown } from '../../internal/src';

/** A file of the web page of the console. */
export interface Asset {
  readonly type: string;
  readonly text: string;
  /** Value of the ETag header: a hash of the content of the file. */
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Files of the web page of the console. The first request reads all of them into memory, so no request can read a file outside their
 * folder.
 */
export class Assets {
  private files: ReadonlyMap<string, Asset> | undefined;

  /** @param folder folder with the files; default: the folder `assets` next to this file, or next to the bundle that contains this code */
  constructor(private readonly folder = join(ownFolder(), 'assets')) {}

  /** Returns a file; undefined if no file has this name. @throws SetupError if the page was not built */
  get(name: string): Asset | undefined {
    this.files ??= new Map(this.names().map((each) => [each, assetOf(each, readFileSync(join(this.folder, each)))]));
    return this.files.get(name);
  }

  private names(): string[] {
    const names = existsSync(this.folder) ? readdirSync(this.folder) : [];
    if (names.includes('index.html')) return names.filter((name) => extname(name) in TYPES);
    throw new SetupError(
      `ConsoleModule: The files of the page are not in ${shown(this.folder)}. In a clone of the sources, run npm run compile. If you ` +
        'bundle your app, copy the folder luanest/dist/libs/console/src/assets to this folder.',
    );
  }
}

/** Returns the folder of this file. A bundle of ES modules has no `__dirname`, so there it is the folder of the file that Node.js runs. */
function ownFolder(): string {
  return typeof __dirname === 'undefined' ? dirname(process.argv[1] ?? '') : __dirname;
}

function assetOf(name: string, bytes: Buffer): Asset {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { type: TYPES[extname(name)] ?? '', text: bytes.toString('utf8'), etag };
}
