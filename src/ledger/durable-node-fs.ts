import type { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { fsyncSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

type InitOptions = Parameters<NodeFS['init']>[1];
type Hook = (module: unknown) => void;

/**
 * PGlite's file layer with a working fsync. By default PGlite runs PostgreSQL with fsync off, and its file layer ignores
 * fsync, so a commit survives a killed process but may be lost in a power cut. With this layer and `durableStartParams`, each
 * fsync of PostgreSQL is one of the operating system.
 * See DECISIONS.md: pglite-with-real-fsync
 */
export class DurableNodeFS extends NodeFS {
  override async init(pg: PGlite, options: InitOptions): Promise<{ emscriptenOpts: InitOptions }> {
    const { emscriptenOpts } = await super.init(pg, options);
    const hooks: Hook[] = [...((emscriptenOpts.preRun as Hook[] | undefined) ?? []), addFsync];
    return { emscriptenOpts: { ...emscriptenOpts, preRun: hooks } };
  }
}

/**
 * Returns PGlite's own start parameters with fsync on. PGlite's fdatasync does nothing and cannot be replaced, so
 * `wal_sync_method` is fsync.
 *
 * @param defaults `PGlite.defaultStartParams`
 */
export function durableStartParams(defaults: readonly string[]): string[] {
  return [...defaults.filter((param) => param !== '-F'), '-c', 'wal_sync_method=fsync'];
}

/** Syncs every file and folder under `path`. PostgreSQL itself does not sync the files that initdb wrote. */
export async function syncTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await syncTree(child);
    else if (entry.isFile()) await syncOne(child);
  }
  await syncOne(path);
}

async function syncOne(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function addFsync(module: unknown): void {
  const operations = (module as { NODEFS?: { stream_ops?: Record<string, unknown> } }).NODEFS?.stream_ops;
  if (operations === undefined)
    throw new Error('This version of PGlite has no NODEFS.stream_ops, so its commits cannot be made durable.');
  operations.fsync = (stream: { nfd: number }): number => {
    fsyncSync(stream.nfd);
    return 0;
  };
}
