import { PGlite } from '@electric-sql/pglite';
import type { Cluster, Redis } from 'ioredis';

/** A resource that refuses stale fences: answers whether it took the value. */
export type Guarded = (value: number, fence: number) => Promise<boolean>;

/** The README's statement. @returns the write, and what stands there */
export async function sqlResource(): Promise<{
  write: Guarded;
  read: () => Promise<unknown>;
  close: () => Promise<void>;
}> {
  const db = new PGlite();
  await db.exec('CREATE TABLE reports (id text PRIMARY KEY, total int, fence bigint NOT NULL)');
  return {
    write: async (total, fence) => {
      const { affectedRows } = await db.query(
        `INSERT INTO reports (id, total, fence) VALUES ('daily', $1, $2)
         ON CONFLICT (id) DO UPDATE SET total = EXCLUDED.total, fence = EXCLUDED.fence
         WHERE reports.fence <= EXCLUDED.fence`,
        [total, fence],
      );
      return affectedRows === 1;
    },
    read: async () => (await db.query<{ total: number }>('SELECT total FROM reports')).rows[0]?.total,
    close: () => db.close(),
  };
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
