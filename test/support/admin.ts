import { Redis } from 'ioredis';

export interface Address {
  host: string;
  port: number;
}

/** One short-lived connection that never reconnects and never waits for long, closed whatever happens. */
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
  admin.on('error', () => undefined); // every failure also rejects the command that met it
  try {
    await admin.connect();
    return await use(admin);
  } finally {
    // On a connection that has ended already, disconnect() leaves a timer behind that holds the process up.
    if (admin.status !== 'end') admin.disconnect();
  }
}
