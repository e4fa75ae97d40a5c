import { Redis } from 'ioredis';
import type { Address } from '../../libs/testing/src/servers/admin';

export type { Address };

/** Runs `use` with a connection that does not reconnect and waits at most five seconds for each reply. Closes it in any case. */
export async function withAdmin<T>({ host, port }: Address, use: (admin: Redis) => Promise<T>): Promise<T> {
  const admin = new Redis({
    host,
    port,
    protocol: 2,
    lazyConnect: true,
    connectTimeout: 5_000,
    disconnectTimeout: 100,
    commandTimeout: 5_000,
    maxRetriesPerRequest: 0,
    retryStrategy: null,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    disableClientInfo: true,
  });
  admin.on('error', () => undefined); // each error also rejects the command that failed
  try {
    await admin.connect();
    return await use(admin);
  } finally {
    // On a connection that has ended already, disconnect() would start a timer that keeps the process alive.
    if (admin.status !== 'end') admin.disconnect();
  }
}
