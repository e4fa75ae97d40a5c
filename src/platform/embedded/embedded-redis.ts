import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileLock } from './file-lock';
import { makePrivateFolder } from './private-file';
import { EmbeddedRedisError, RedisFolder } from './redis-folder';
import { type RedisEndpoint, sendInline } from './redis-inline';
import { type EmbeddedRedisLog, ServerWatch } from './server-watch';

/**
 * The `redis-server` of a data folder, as one app process uses it. All apps on a folder share one server. A server that
 * dies is started again on the same port. The last app that stops shuts it down.
 */
export class EmbeddedRedis {
  private readonly watch: ServerWatch;
  private stopping = false;

  private constructor(
    private readonly folder: RedisFolder,
    private readonly users: FileLock,
    logger: EmbeddedRedisLog,
    /** Address and password of the server; the same until `stop`. */
    readonly endpoint: RedisEndpoint,
  ) {
    this.watch = new ServerWatch(folder, endpoint, logger);
  }

  /**
   * Uses the server of `dataDir`, and starts it if it does not run.
   *
   * @throws {EmbeddedRedisError} if the server cannot be started or does not answer
   */
  static async start(dataDir: string, logger: EmbeddedRedisLog): Promise<EmbeddedRedis> {
    await makePrivateFolder(dataDir);
    const users = await joinUsers(join(dataDir, 'users.lock'));
    try {
      const folder = new RedisFolder(join(dataDir, 'redis'));
      const redis = new EmbeddedRedis(folder, users, logger, await folder.ensureServer());
      redis.watch.start();
      return redis;
    } catch (error) {
      await users.release();
      throw error;
    }
  }

  /** Stops using the server. Shuts the server down if no other app uses it. Harmless twice. */
  async stop(): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    await this.watch.stop();
    try {
      // With the exclusive lock, an app that starts now waits, so it cannot use a server that shuts down.
      if (!(await this.users.tryUpgrade())) return;
      await sendInline(this.endpoint, 'SHUTDOWN', 10_000);
      await this.folder.waitUntilEmpty();
    } finally {
      await this.users.release();
    }
  }
}

/** Takes the lock that all apps on the folder share. Waits up to 60 s while another app shuts the server down. */
async function joinUsers(path: string): Promise<FileLock> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const lock = await FileLock.tryShared(path);
    if (lock !== undefined) return lock;
    if (Date.now() > deadline)
      throw new EmbeddedRedisError(
        `${path} was locked for 60 s. Another app on this folder may hang while it stops. If so, end that process.`,
      );
    await sleep(100);
  }
}
