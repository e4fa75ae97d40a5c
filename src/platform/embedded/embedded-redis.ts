import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileLock } from './file-lock';
import { makePrivateFolder } from './private-file';
import { EmbeddedRedisError, RedisFolder } from './redis-folder';
import { type RedisEndpoint, sendInline } from './redis-inline';
import { type EmbeddedRedisLog, ServerWatch } from './server-watch';

/**
 * One app process' share in the `redis-server` of a data folder. All apps on a folder share one server; it is started
 * again on the same port when it dies, and the last app that stops takes it down.
 */
export class EmbeddedRedis {
  private readonly watch: ServerWatch;
  private stopping = false;

  private constructor(
    private readonly folder: RedisFolder,
    private readonly users: FileLock,
    logger: EmbeddedRedisLog,
    /** Where the server listens, for as long as this object lives. */
    readonly endpoint: RedisEndpoint,
  ) {
    this.watch = new ServerWatch(folder, endpoint, logger);
  }

  /**
   * Joins the server of `dataDir`, starting it when none lives there.
   *
   * @throws {EmbeddedRedisError} when there is no server to be had
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

  /** Leaves the server; shuts it down when no other app uses it. Harmless twice. */
  async stop(): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    await this.watch.stop();
    try {
      // An app that starts now waits for the lock, so it cannot join a server that is going away.
      if (!(await this.users.tryUpgrade())) return;
      await sendInline(this.endpoint, 'SHUTDOWN', 10_000);
      await this.folder.waitUntilEmpty();
    } finally {
      await this.users.release();
    }
  }
}

/** Joins the users of the folder, waiting for a last user that is shutting the server down. */
async function joinUsers(path: string): Promise<FileLock> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const lock = await FileLock.tryShared(path);
    if (lock !== undefined) return lock;
    if (Date.now() > deadline)
      throw new EmbeddedRedisError(`${path} stayed locked: an app on this folder hangs while it stops.`);
    await sleep(100);
  }
}
