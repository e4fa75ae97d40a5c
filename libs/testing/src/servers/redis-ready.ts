import { performance } from 'node:perf_hooks';
import { type Address, withAdmin } from './admin';
import { TestServerError } from './errors';
import type { RedisProcess } from './redis-process';
import { sleep } from './wait';

const POLL_MS = 10;

interface Starting extends Address {
  readonly log: string;
}

/**
 * Waits until a server answers. If it is a replica, also waits until it has the data of its master. If the server requires a password, its
 * data cannot be checked.
 *
 * @throws TestServerError with the end of the server's log if it ends or takes longer than `timeoutMs`
 */
export async function untilReady(
  server: Starting,
  process: RedisProcess,
  timeoutMs: number,
  isReplica: boolean,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (process.running) {
    if (await isReady(server, process.pid, isReplica)) return;
    if (performance.now() > deadline) break;
    await sleep(POLL_MS);
  }
  const what = isReplica ? 'reply and copy the data of its master' : 'reply';
  const why = process.running ? `did not ${what} within ${timeoutMs} ms` : 'ended before it was ready';
  throw new TestServerError(
    `The redis-server on port ${server.port} ${why}. Its log ends: ${server.log.slice(-2_000)}`,
  );
}

/** Returns true if the server is ready. Another server may have taken the port, so the process id is compared. */
async function isReady(server: Address, pid: number, isReplica: boolean): Promise<boolean> {
  try {
    return await withAdmin(server, async (admin) => {
      const isOurs = (await admin.info('server')).includes(`process_id:${pid}\r\n`);
      return isOurs && (!isReplica || (await admin.info('replication')).includes('master_link_status:up'));
    });
  } catch (error) {
    // A server that requires a password replies with an error, so it is up. It does not show if a replica has its data.
    return /^(NOAUTH|NOPERM)/.test((error as Error).message);
  }
}
