import type { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { fsyncSync } from 'node:fs';
import { chmod, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

type InitOptions = Parameters<NodeFS['init']>[1];
/** Bits of a mode without the rights of other users. */
const OWNER = ~0o077;

type Hook = (module: unknown) => void;

/**
 * PGlite's file layer with a working fsync. By default PGlite runs PostgreSQL with fsync off, and its file layer ignores
 * fsync, so a commit survives a killed process but may be lost in a power cut. With this layer and `durableStartParams`, each
 * fsync of PostgreSQL is one of the operating system. Without it, PGlite's files also have mode 0666.
 * See DECISIONS.md: pglite-with-real-fsync
 */
export class DurableNodeFS extends NodeFS {
  override async init(pg: PGlite, options: InitOptions): Promise<{ emscriptenOpts: InitOptions }> {
    const { emscriptenOpts } = await super.init(pg, options);
    const hooks: Hook[] = [...((emscriptenOpts.preRun as Hook[] | undefined) ?? []), adapt];
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

/** Takes the rights of other users from all files and folders under `path`, which earlier versions gave. */
export async function restrictTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await restrictTree(child);
    else if (entry.isFile()) await chmod(child, 0o600);
  }
  await chmod(path, 0o700);
}

interface NodeFsModule {
  readonly NODEFS?: {
    stream_ops?: Record<string, unknown>;
    node_ops?: {
      mknod?: (parent: unknown, name: string, mode: number, device: number) => unknown;
      setattr?: (node: unknown, attributes: { mode?: number }) => unknown;
    };
  };
}

function adapt(module: unknown): void {
  const { stream_ops: streams, node_ops: nodes } = (module as NodeFsModule).NODEFS ?? {};
  const { mknod, setattr } = nodes ?? {};
  if (streams === undefined || nodes === undefined || mknod === undefined || setattr === undefined)
    throw new Error(
      'This version of PGlite has other file operations, so its commits cannot be made durable and private.',
    );
  streams.fsync = (stream: { nfd: number }): number => {
    fsyncSync(stream.nfd);
    return 0;
  };
  nodes.mknod = (parent, name, mode, device) => mknod(parent, name, mode & OWNER, device);
  nodes.setattr = (node, attributes) =>
    setattr(node, attributes.mode === undefined ? attributes : { ...attributes, mode: attributes.mode & OWNER });
}
