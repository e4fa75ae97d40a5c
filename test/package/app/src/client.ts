import { Cluster, Redis } from 'ioredis';

const { CLUSTER_PORT, REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;

// On a busy machine the default of one second is too short for the first answer of a node, and ioredis prints an error.
export const client = CLUSTER_PORT
  ? new Cluster([{ host: '127.0.0.1', port: Number(CLUSTER_PORT) }], { slotsRefreshTimeout: 5_000 })
  : new Redis(REDIS_URL);

export const close = (): Promise<unknown> => client.quit();
