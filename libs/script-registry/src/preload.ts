import { createHash } from 'node:crypto';
import type { Logger } from '@nestjs/common';
import { messageOf } from '../../internal/src';
import { CommandFailure, type RedisConnection, type RedisNode } from './connection/port';
import type { ScriptLoader } from './script-loader';
import { PreloadFailedError } from './script-registry.errors';
import type { ResolvedScriptRegistryOptions } from './script-registry.options';
import type { ScriptHealth } from './script-registry.types';

/** Once all masters have the scripts, the boot waits for replicas at most this long, ms. */
const REPLICA_GRACE_MS = 1_000;

/** If the boot still waits for masters after this time, ms, it logs which ones. */
const NOTICE_MS = 1_000;

/** Script of the health check. It has no keys, so any node can run it, and its flags let it run while memory is full, and on a replica. */
const PROBE = '#!lua flags=no-writes,allow-oom,allow-stale\nreturn 1';
const PROBE_SHA = createHash('sha1').update(PROBE).digest('hex');

/** Loads the scripts on all nodes, at boot and when nodes connect or change. Also checks the health of all nodes. */
export class Preload {
  private stopListening: (() => void) | undefined;
  private readonly watchers = new Set<(event: string) => void>();

  constructor(
    private readonly connection: RedisConnection,
    private readonly loader: ScriptLoader,
    private readonly options: Pick<ResolvedScriptRegistryOptions, 'preload' | 'preloadTimeoutMs' | 'deadlineMs'>,
    private readonly logger: Logger,
    private readonly changed: (reconnected?: RedisNode) => void,
    private readonly lastError: () => string | undefined = () => undefined,
  ) {}

  /**
   * Starts to load scripts. Waits until loading has ended on all nodes, at most `preloadTimeoutMs`. With `best-effort`, also stops
   * waiting for masters when a connection fails, and logs a warning if a master lacks scripts. Logs the masters that are not connected
   * once: after a second, or when the wait ends before.
   *
   * @throws PreloadFailedError if `preload` is `required`, and a master lacks scripts or is not connected when the wait ends
   */
  async start(): Promise<void> {
    this.stopListening = this.connection.listen((event, node) => this.handle(event, node));
    const required = this.options.preload === 'required';
    const done = this.watch(required);
    this.handle('topology');
    let noticed = false;
    const notice = (): boolean => (noticed ||= this.notice(required));
    const timer = setTimeout(notice, NOTICE_MS);
    const problem = await done;
    clearTimeout(timer);
    if (problem === undefined) return;
    if (required) throw new PreloadFailedError(problem);
    if (this.unconnected().length > 0) return void notice();
    this.logger.warn(
      `${problem} The app keeps running. Calls wait until their master is connected, at most until their deadlines. Missing scripts are ` +
        `loaded when the master connects, or when a call needs them.`,
    );
  }

  /** Checks each node: the node must reply to PING, have all scripts, and allow the Redis user to run scripts. */
  async health(timeoutMs: number): Promise<ScriptHealth> {
    const nodes = this.connection.nodes();
    if (!nodes.some(({ role }) => role === 'master'))
      return { healthy: false, problems: ['no master of Redis is connected'] };
    const results = await Promise.all(
      nodes.map((node) =>
        withTimeout(
          this.nodeProblem(node),
          timeoutMs,
          `${node.id}: Redis did not reply to the health check within ${timeoutMs} ms`,
        ),
      ),
    );
    const lost = this.connection.lostMasters().map((id) => `${id}: not connected`);
    const problems = [...lost, ...results.filter((problem) => problem !== undefined)];
    return { healthy: problems.length === 0, problems };
  }

  close(): void {
    this.stopListening?.();
  }

  private async nodeProblem(node: RedisNode): Promise<string | undefined> {
    if (!node.ready) return `${node.id} is not connected, or not ready yet`;
    try {
      const { shas } = this.loader;
      const [, present] = await Promise.all([
        node.send('PING', []),
        shas.length === 0 ? [] : node.send('SCRIPT', ['EXISTS', ...shas]),
        this.mayRunScripts(node),
      ]);
      const missing = (present as (number | string)[]).filter((found) => Number(found) !== 1).length;
      if (missing === 0) return undefined;
      const lacking = `${node.id} replies to PING, but ${missing} of ${shas.length} scripts are not loaded there`;
      const why = this.loader.loaded.get(node);
      return why instanceof Error ? `${lacking}: ${why.message}` : lacking;
    } catch (error) {
      return `${node.id}: ${messageOf(error)}`;
    }
  }

  /**
   * Runs an empty script. Throws if no reply comes, or if the Redis user may not run scripts. Other error replies do not count, because the
   * health check's PING gets them, too. If the node lacks the script, loads it, so that the next check does not add another NOSCRIPT error
   * to the statistics of Redis.
   * See DECISIONS.md: health-runs-an-empty-script
   */
  private async mayRunScripts(node: RedisNode): Promise<void> {
    try {
      await node.send('EVALSHA', [PROBE_SHA, '0']);
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.kind !== 'reply' || error.code === 'NOPERM') throw error;
      if (error.noScript) await node.send('SCRIPT', ['LOAD', PROBE]).catch(() => undefined);
    }
  }

  private handle(event: 'ready' | 'topology' | 'down', node?: RedisNode): void {
    if (node && event !== 'topology') this.loader.forget(node);
    if (event === 'ready' && node) {
      void this.loader.load(node).then(() => this.notify('loaded'));
      this.changed(node);
    }
    if (event === 'topology') {
      for (const known of this.connection.nodes()) {
        if (known.ready && !this.loader.loaded.has(known))
          void this.loader.load(known).then(() => this.notify('loaded'));
      }
      this.loader.verifySoon();
      this.changed();
    }
    this.notify(event);
  }

  private notify(event: string): void {
    for (const watcher of [...this.watchers]) watcher(event);
  }

  /**
   * Waits until scripts have been loaded on all nodes, successfully or not, at most `preloadTimeoutMs`. Waits for replicas at most a second
   * longer than for masters. If `required` is false, also stops waiting for masters when a connection fails.
   *
   * @returns a text that names the masters that are not connected or lack scripts; undefined if there are none
   */
  private watch(required: boolean): Promise<string | undefined> {
    return new Promise((resolve) => {
      const finish = (problem: string | undefined): void => {
        this.watchers.delete(check);
        clearTimeout(timer);
        clearTimeout(grace);
        resolve(problem);
      };
      let grace: NodeJS.Timeout | undefined;
      const timer = setTimeout(() => finish(this.problem()), this.options.preloadTimeoutMs);
      const check = (event: string): void => {
        const nodes = this.connection.nodes();
        const masters = nodes.filter(({ role }) => role === 'master');
        const complete = masters.length > 0 && this.connection.lostMasters().length === 0;
        // A load also ends when its connection closes, so a master must be connected, too. If `required`, the wait goes on after a failed
        // connection. For example, the client of a Cluster closes all connections while one master is down, and connects again.
        if (complete && masters.every((node) => node.ready && this.loader.loaded.has(node))) {
          if (masters.some((node) => this.loader.problem(node)) || nodes.every((node) => this.loader.loaded.has(node)))
            return finish(this.problem());
          grace ??= setTimeout(() => finish(this.problem()), REPLICA_GRACE_MS);
          return;
        }
        clearTimeout(grace);
        grace = undefined;
        if (event === 'down' && !required) finish(this.problem());
      };
      this.watchers.add(check);
    });
  }

  /**
   * Logs which masters are not connected, what to do, and how long the boot waits for them.
   *
   * @returns false if all masters are connected
   */
  private notice(required: boolean): boolean {
    const masters = this.unconnected();
    if (masters.length === 0) return false;
    const error = this.lastError();
    const { preloadTimeoutMs, deadlineMs } = this.options;
    this.logger.warn(
      `Redis is unavailable: ${masters.join(', ')} ${masters.length === 1 ? 'is' : 'are'} not connected` +
        `${error === undefined ? '' : ` (${error})`}. Start Redis, or correct the address in ScriptRegistryModule.forRoot(). ` +
        (required
          ? `The app waits for Redis for up to ${preloadTimeoutMs} ms, then the boot fails, because preload is 'required'.`
          : `The app boots without Redis. Modules that read from Redis at boot first wait for it, for up to ${deadlineMs} ms.`),
    );
    return true;
  }

  /** Returns the ids of the masters that are not connected. */
  private unconnected(): string[] {
    const masters = this.connection.nodes().filter(({ role }) => role === 'master');
    const ids = masters.filter((node) => !node.ready && !this.loader.loaded.has(node)).map(({ id }) => id);
    return [...ids, ...this.connection.lostMasters()];
  }

  private problem(): string | undefined {
    const masters = this.connection.nodes().filter(({ role }) => role === 'master');
    const lost = this.connection.lostMasters();
    const problems = masters.flatMap((node) => {
      const isKnown = node.ready || this.loader.loaded.has(node);
      const error = isKnown ? this.loader.problem(node) : new Error('not connected, or not ready yet');
      return error ? [`${node.id}: ${error.message}`] : [];
    });
    problems.push(...lost.map((id) => `${id}: not connected`));
    if (problems.length === 0) return undefined;
    return (
      `The scripts could not be loaded on these masters of Redis: ${problems.join('; ')}. ` +
      `Check that this process can connect to them, that they run Redis 7.0 or newer, and that the Redis user may use SCRIPT LOAD.`
    );
  }
}

async function withTimeout<T>(work: Promise<T>, timeoutMs: number, late: string): Promise<T | string> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(late), timeoutMs);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
