import type * as Ioredis from 'ioredis';
import type { NodeRedisClient } from './node-redis-node';

interface NodeRedis {
  createClient(options: {
    readonly url: string;
    readonly socket: { readonly reconnectStrategy: (retries: number) => number };
  }): NodeRedisClient;
}

/*
 * An app may have only one of ioredis and redis, so a static import of either could fail. Each `require` has a literal name, and is inside
 * a `try` block. So bundlers include the package that is installed, and ignore the other package.
 */
/* eslint-disable @typescript-eslint/no-require-imports -- an import would make the peer mandatory */

/** Loads ioredis. @returns undefined if the app has not installed it */
export function ioredisIfInstalled(): typeof Ioredis | undefined {
  try {
    return require('ioredis') as typeof Ioredis;
  } catch (error) {
    return unlessMissing(error);
  }
}

/** Loads `redis` (node-redis). @returns undefined if the app has not installed it */
export function nodeRedisIfInstalled(): NodeRedis | undefined {
  try {
    return require('redis') as NodeRedis;
  } catch (error) {
    return unlessMissing(error);
  }
}
/* eslint-enable @typescript-eslint/no-require-imports */

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
}

let loaded: typeof Ioredis | undefined;

/**
 * Returns the installed ioredis, to send commands with a client that the app has created. Loads the package only once, because `require`
 * takes longer than a whole call.
 *
 * @throws Error if ioredis is not installed
 */
export function loadIoredis(): typeof Ioredis {
  if (loaded) return loaded;
  const ioredis = ioredisIfInstalled();
  if (!ioredis)
    throw new Error(
      'ScriptRegistryModule: The option client is a client of ioredis, but luanest cannot load the package ioredis. Install ioredis.',
    );
  return (loaded = ioredis);
}
