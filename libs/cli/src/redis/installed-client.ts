import { createRequire } from 'node:module';
import { join } from 'node:path';
import { UsageError } from '../usage-error';

interface Ioredis {
  readonly Redis: new (url: string, options: Readonly<Record<string, unknown>>) => IoredisClient;
}
export interface IoredisClient {
  connect(): Promise<unknown>;
  call(name: string, ...args: string[]): Promise<unknown>;
  disconnect(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface NodeRedis {
  createClient(options: Readonly<Record<string, unknown>>): NodeRedisClient;
}
export interface NodeRedisClient {
  connect(): Promise<unknown>;
  sendCommand(words: readonly string[]): Promise<unknown>;
  destroy(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export type InstalledClient =
  { readonly kind: 'ioredis'; readonly ioredis: Ioredis } | { readonly kind: 'redis'; readonly redis: NodeRedis };

/**
 * Loads a package from the folder of the app, or else from where luanest is installed.
 *
 * @returns undefined if the package is not installed
 */
export function loadInstalled(name: string, folder: string): unknown {
  for (const from of [join(folder, 'package.json'), __filename]) {
    const load = createRequire(from);
    try {
      load.resolve(name);
    } catch {
      continue;
    }
    return load(name);
  }
  return undefined;
}

/** Loads ioredis, or redis if ioredis is not installed. @throws UsageError if neither is installed */
export function installedClient(folder: string, only?: InstalledClient['kind']): InstalledClient {
  const ioredis = only === 'redis' ? undefined : (loadInstalled('ioredis', folder) as Ioredis | undefined);
  if (ioredis) return { kind: 'ioredis', ioredis };
  const redis = loadInstalled('redis', folder) as NodeRedis | undefined;
  if (redis) return { kind: 'redis', redis };
  throw new UsageError(
    'No client library for Redis is installed here. Run the command in the folder of an app that has ioredis or redis, or with one of them: ' +
      'npx -p luanest -p ioredis luanest ...',
  );
}
