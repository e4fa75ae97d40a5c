import type * as Ioredis from 'ioredis';
import type { NodeRedisClient } from './node-redis-node';

/** The part of the package `redis` that luanest uses. */
interface NodeRedis {
  createClient(options: {
    readonly url: string;
    readonly socket: { readonly reconnectStrategy: (retries: number) => number };
  }): NodeRedisClient;
}

/*
 * Both clients are optional peers, so this package must not import them. Each `require` has a literal name, and is inside a `try` block.
 * So bundlers include the client that is installed, and ignore the other one.
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
 * Loads ioredis. Called for a client that the app has created, perhaps with another copy of ioredis. Each command needs the package, and
 * `require` takes longer than the rest of a call. So `require` is called only once.
 *
 * @throws Error if ioredis is not installed
 */
export function loadIoredis(): typeof Ioredis {
  if (loaded) return loaded;
  const ioredis = ioredisIfInstalled();
  if (!ioredis)
    throw new Error('The client is of ioredis, and luanest does not find the package ioredis. Install ioredis.');
  return (loaded = ioredis);
}
