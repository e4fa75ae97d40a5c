import { PGlite } from '@electric-sql/pglite';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makePrivateFolder, syncFolder } from '../platform/embedded/private-file';
import { DurableNodeFS, durableStartParams, restrictTree, syncTree } from './durable-node-fs';
import type { SqlDatabase, SqlRow, SqlSession, SqlValue } from './sql';

/**
 * The SQL port over an embedded PGlite. The caller must hold the lock of the folder: PGlite does not notice a second process
 * on its folder, and two processes can destroy the database.
 */
export class PgliteDatabase implements SqlDatabase {
  private constructor(private readonly db: PGlite) {}

  /** Opens the database of a folder; creates it, which takes seconds, if the folder is missing. */
  static async open(folder: string): Promise<PgliteDatabase> {
    if (existsSync(folder)) await restrictTree(folder);
    else await createDatabase(folder);
    return new PgliteDatabase(await openDurably(folder));
  }

  async query(text: string, params: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    return (await this.db.query<SqlRow>(text, [...params])).rows;
  }

  async script(text: string): Promise<void> {
    await this.db.exec(text);
  }

  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.db.transaction((transaction) =>
      work({
        query: async (text, params = []) => (await transaction.query<SqlRow>(text, [...params])).rows,
        script: async (text) => void (await transaction.exec(text)),
      }),
    );
  }

  close(): Promise<void> {
    return this.db.close();
  }
}

/** Creates the database in a draft folder, then renames it. A process that is killed before the rename leaves only a draft. */
async function createDatabase(folder: string): Promise<void> {
  const draft = `${folder}.draft`;
  await rm(draft, { recursive: true, force: true });
  await makePrivateFolder(draft);
  await (await openDurably(draft)).close();
  await syncTree(draft);
  await rename(draft, folder);
  await syncFolder(dirname(folder));
}

function openDurably(folder: string): Promise<PGlite> {
  return PGlite.create({ fs: new DurableNodeFS(folder), startParams: durableStartParams(PGlite.defaultStartParams) });
}
