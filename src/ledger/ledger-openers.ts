import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FileLock } from '../platform/embedded/file-lock';
import { makePrivateFolder, writePrivateFile } from '../platform/embedded/private-file';
import { migrateLedger } from './ledger-migrations';
import type { ReadableLedger } from './ledger.types';
import { PgliteDatabase } from './pglite-database';
import { PostgresDatabase } from './postgres-database';
import type { SqlDatabase } from './sql';
import { SqlLedger } from './sql-ledger';

/** An open ledger, until `release`. */
export interface OpenLedger {
  readonly ledger: ReadableLedger;
  /** Closes the ledger and lets another process have it. */
  release(): Promise<void>;
}

/** Opens a ledger, and passes its owner's URL to other processes. */
export interface LedgerOpener {
  /** Opens the ledger. Returns undefined while another process owns it. @throws {Error} if it cannot be opened */
  tryOpen(): Promise<OpenLedger | undefined>;
  /** Publishes the URL of this process, which owns the ledger, to the other processes. */
  announce(url: string): Promise<void>;
  /** Returns the last published URL, whose process may have ended; undefined if no URL can be read. */
  ownerUrl(): Promise<string | undefined>;
}

/** Opens the embedded ledger, DATA_DIR/ledger, if this process gets the lock of DATA_DIR/ledger.lock. */
export class EmbeddedLedgerOpener implements LedgerOpener {
  constructor(private readonly dataDir: string) {}

  async tryOpen(): Promise<OpenLedger | undefined> {
    await makePrivateFolder(this.dataDir);
    const lock = await FileLock.tryExclusive(join(this.dataDir, 'ledger.lock'));
    if (lock === undefined) return undefined;
    try {
      // The file may have the URL of the previous owner.
      await rm(this.noticePath, { force: true });
      const ledger = await openWithSchema(await PgliteDatabase.open(join(this.dataDir, 'ledger')));
      return { ledger, release: () => ledger.close().finally(() => lock.release()) };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  announce(url: string): Promise<void> {
    return writePrivateFile(this.noticePath, `${JSON.stringify({ url })}\n`);
  }

  async ownerUrl(): Promise<string | undefined> {
    try {
      const notice = JSON.parse(await readFile(this.noticePath, 'utf8')) as { url?: unknown };
      return typeof notice.url === 'string' ? notice.url : undefined;
    } catch {
      return undefined;
    }
  }

  private get noticePath(): string {
    return join(this.dataDir, 'ledger-owner.json');
  }
}

/** Opens a ledger in a PostgreSQL server, which any number of processes share. */
export class PostgresLedgerOpener implements LedgerOpener {
  constructor(private readonly url: string) {}

  async tryOpen(): Promise<OpenLedger> {
    const ledger = await openWithSchema(new PostgresDatabase(this.url));
    return { ledger, release: () => ledger.close() };
  }

  /** Does nothing: every process opens the ledger itself. */
  async announce(): Promise<void> {}

  /** Returns undefined: every process opens the ledger itself. */
  async ownerUrl(): Promise<undefined> {}
}

async function openWithSchema(database: SqlDatabase): Promise<ReadableLedger> {
  try {
    await migrateLedger(database);
    return new SqlLedger(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}
