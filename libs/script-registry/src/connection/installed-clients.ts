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
 * Both clients are optional peers, so neither may be imported. The name is a literal in a call inside a `try` block, so bundlers
 * include the package that is installed, and leave out the other one.
 */
/* eslint-disable @typescript-eslint/no-require-imports -- an import would make the peer mandatory */

/** @returns undefined if the app has not installed it */
export function ioredisIfInstalled(): typeof Ioredis | undefined {
  try {
    return require('ioredis') as typeof Ioredis;
  } catch (error) {
    return unlessMissing(error);
  }
}

/** @returns undefined if the app has not installed it */
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
