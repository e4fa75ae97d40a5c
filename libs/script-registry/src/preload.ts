import { createHash } from 'node:crypto';
import type { Logger } from '@nestjs/common';
import { CommandFailure, type RedisConnection, type RedisNode } from './connection/port';
import type { ScriptLoader } from './script-loader';
import { PreloadFailedError } from './script-registry.errors';
import type { ResolvedScriptRegistryOptions } from './script-registry.options';
import type { ScriptHealth } from './script-registry.types';

/** How long boot waits for replicas after all masters have the scripts, ms. */
const REPLICA_GRACE_MS = 1_000;

/** Script of the health check. Without keys any node may run it, and the flags allow it in any state. */
const PROBE = '#!lua flags=no-writes,allow-oom,allow-stale\nreturn 1';
const PROBE_SHA = createHash('sha1').update(PROBE).digest('hex');

/** Loads scripts on all nodes at boot and when nodes connect or change, and checks their health. */
export class Preload {
  private stopListening: (() => void) | undefined;
  private readonly watchers = new Set<(event: string) => void>();

  constructor(
    private readonly connection: RedisConnection,
    private readonly loader: ScriptLoader,
    private readonly options: Pick<ResolvedScriptRegistryOptions, 'preload' | 'preloadTimeoutMs'>,
    private readonly logger: Logger,
    private readonly changed: () => void,
  ) {}

  /** Starts to load scripts, and waits for the first load as the options say. @throws PreloadFailedError with `required` */
  async start(): Promise<void> {
    this.stopListening = this.connection.listen((event, node) => this.handle(event, node));
    const required = this.options.preload === 'required';
    const done = this.watch(required);
    this.handle('topology');
    const problem = await done;
    if (problem === undefined) return;
    if (required) throw new PreloadFailedError(problem);
    this.logger.warn(
      `${problem} Calls wait for Redis until their deadlines. Scripts are loaded when Redis is available.`,
    );
  }

  /** Checks each node: it must reply to PING, have all scripts and let this user run scripts. */
  async health(timeoutMs: number): Promise<ScriptHealth> {
    const nodes = this.connection.nodes();
    if (!nodes.some(({ role }) => role === 'master')) return { healthy: false, problems: ['no master is known'] };
    const results = await Promise.all(
      nodes.map((node) =>
        withTimeout(this.nodeProblem(node), timeoutMs, `${node.id} did not reply within ${timeoutMs} ms`),
      ),
    );
    const lost = this.connection.lostMasters().map((id) => `${id} owns slots, but is not connected`);
    const problems = [...lost, ...results.filter((problem) => problem !== undefined)];
    return { healthy: problems.length === 0, problems };
  }

  close(): void {
    this.stopListening?.();
  }

  private async nodeProblem(node: RedisNode): Promise<string | undefined> {
    if (!node.ready) return `${node.id} is not connected`;
    try {
      const { shas } = this.loader;
      const [, present] = await Promise.all([
        node.send('PING', []),
        shas.length === 0 ? [] : node.send('SCRIPT', ['EXISTS', ...shas]),
        this.mayRunScripts(node),
      ]);
      const missing = (present as (number | string)[]).filter((found) => Number(found) !== 1).length;
      return missing === 0
        ? undefined
        : `${node.id} replies to PING, but lacks ${missing} of ${shas.length} script bodies`;
    } catch (error) {
      return `${node.id}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  // See DECISIONS.md: health-runs-an-empty-script
  /** Runs a script that does nothing. A node that lacks it gets it, so that Redis counts a NOSCRIPT error for the first check only. */
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
    if (event === 'ready' && node) void this.loader.load(node).then(() => this.notify('loaded'));
    if (event === 'topology') {
      for (const known of this.connection.nodes()) {
        if (known.ready && !this.loader.settled(known)) void this.loader.load(known).then(() => this.notify('loaded'));
      }
      this.loader.verifySoon();
      this.changed();
    }
    this.notify(event);
  }

  private notify(event: string): void {
    for (const watcher of [...this.watchers]) watcher(event);
  }

  /** Resolves when all nodes have the scripts or the time is over: with the problem, or undefined if there is none. */
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
        if (complete && masters.every((node) => this.loader.settled(node))) {
          if (masters.some((node) => this.loader.problem(node)) || nodes.every((node) => this.loader.settled(node)))
            return finish(this.problem());
          grace ??= setTimeout(() => finish(undefined), REPLICA_GRACE_MS);
        } else if (event === 'down' && !required) finish(this.problem());
      };
      this.watchers.add(check);
    });
  }

  private problem(): string | undefined {
    const masters = this.connection.nodes().filter(({ role }) => role === 'master');
    const lost = this.connection.lostMasters();
    if (masters.length + lost.length === 0)
      return `No master of the Cluster was reached within ${this.options.preloadTimeoutMs} ms. Is Redis up?`;
    const problems = masters.flatMap((node) => {
      const error = node.ready || this.loader.settled(node) ? this.loader.problem(node) : new Error('not connected');
      return error ? [`${node.id}: ${error.message}`] : [];
    });
    problems.push(...lost.map((id) => `${id}: not connected`));
    if (problems.length === 0) return undefined;
    return (
      `Scripts are not loaded on ${problems.length} of ${masters.length + lost.length} master(s): ${problems.join('; ')}. ` +
      `Redis 7.0 or newer must be up and allow SCRIPT LOAD.`
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
