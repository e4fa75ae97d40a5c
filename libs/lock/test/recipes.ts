import { PGlite } from '@electric-sql/pglite';
import type { Cluster, Redis } from 'ioredis';
import { join } from 'node:path';
import { makeDataFolder, removeFolder } from '../../../test/app/support/temp-folder';

/** A resource that refuses stale fences: answers whether it took the value. */
export type Guarded = (value: number, fence: number) => Promise<boolean>;

/** The README's statement, on rows by id. */
export class SqlResources {
  private constructor(
    private readonly folder: string,
    private readonly db: PGlite,
  ) {}

  static async open(): Promise<SqlResources> {
    const folder = await makeDataFolder();
    const db = new PGlite(join(folder, 'ledger'));
    await db.exec('CREATE TABLE reports (id text PRIMARY KEY, total int, fence bigint NOT NULL)');
    return new SqlResources(folder, db);
  }

  at(id: string): Guarded {
    return async (total, fence) => {
      const { affectedRows } = await this.db.query(
        `INSERT INTO reports (id, total, fence) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET total = EXCLUDED.total, fence = EXCLUDED.fence
         WHERE reports.fence <= EXCLUDED.fence`,
        [id, total, fence],
      );
      return affectedRows === 1;
    };
  }

  async totalOf(id: string): Promise<number | undefined> {
    return (await this.db.query<{ total: number }>('SELECT total FROM reports WHERE id = $1', [id])).rows[0]?.total;
  }

  async close(): Promise<void> {
    await this.db.close();
    await removeFolder(this.folder);
  }
}

/** The README's script, on a key of its own. */
export function luaResource(client: Redis | Cluster, key: string): Guarded {
  return async (value, fence) =>
    (await (client as Redis).eval(
      `local seen = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
       if tonumber(ARGV[2]) < seen then return 0 end
       redis.call('HSET', KEYS[1], 'value', ARGV[1], 'fence', ARGV[2])
       redis.call('PEXPIRE', KEYS[1], 600000)
       return 1`,
      1,
      key,
      value,
      fence,
    )) === 1;
}
