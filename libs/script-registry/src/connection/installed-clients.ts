import type * as Ioredis from 'ioredis';
import type { NodeRedisClient } from './node-redis-node';

/** The part of the package `redis` that luanest uses. */
interface NodeRedis {
  createClient(options: { readonly url: string }): NodeRedisClient;
}

/** Loads a client. It is an optional peer, so it must not be imported. @returns undefined if the app has not installed it */
function installed(name: string): unknown {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would make the peer mandatory
    return require(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

export function ioredisIfInstalled(): typeof Ioredis | undefined {
  return installed('ioredis') as typeof Ioredis | undefined;
}

export function nodeRedisIfInstalled(): NodeRedis | undefined {
  return installed('redis') as NodeRedis | undefined;
}

let loaded: typeof Ioredis | undefined;

/**
 * Loads ioredis for a client of ioredis that the app has made, perhaps with another copy. Each command asks for it, and `require` takes longer
 * than the rest of a call, so it is called once.
 *
 * @throws Error if it is not installed
 */
export function loadIoredis(): typeof Ioredis {
  if (loaded) return loaded;
  const ioredis = ioredisIfInstalled();
  if (!ioredis)
    throw new Error('The client is of ioredis, and luanest does not find the package ioredis. Install ioredis.');
  return (loaded = ioredis);
}
