import { asError } from './pipe/settle';
import type { LoadableScript } from './pipe/forms';
import type { RedisConnection, RedisNode } from './connection/port';
import { explained } from './connection/server-errors';
import { events } from './script-registry.events';

const VERIFY_DEBOUNCE_MS = 500;

/**
 * Loads scripts on nodes with SCRIPT LOAD, and remembers for each node if this succeeded.
 * See DECISIONS.md: heal-per-node
 */
export class ScriptLoader {
  private readonly scripts = new Map<string, LoadableScript>();
  private readonly loading = new WeakMap<RedisNode, Promise<void>>();
  /** Last check of each node for missing scripts. */
  private readonly checks = new WeakMap<RedisNode, Promise<void>>();
  /** Result of the last load of scripts on each node: true or the error. A node gets no calls before it is in this map. */
  readonly loaded: WeakMap<RedisNode, Error | true> = new WeakMap();
  private verifyTimer: NodeJS.Timeout | undefined;

  /** @param onLoaded called when the first load of scripts since a node connected has ended, because calls may wait for it */
  constructor(
    private readonly registry: string,
    private readonly connection: RedisConnection,
    private readonly onLoaded: () => void,
  ) {}

  get shas(): string[] {
    return [...this.scripts.keys()];
  }

  /** Adds scripts, and loads them on the nodes that have other scripts already. All other nodes get them with their first load. */
  add(scripts: readonly LoadableScript[]): void {
    for (const script of scripts) this.scripts.set(script.sha, script);
    for (const node of this.connection.nodes()) if (this.loaded.has(node)) void this.loadMissing(node);
  }

  /**
   * Returns the reason why a node may lack scripts: the error of the last load, or that no load has ended yet. Returns undefined if the
   * last load succeeded.
   */
  problem(node: RedisNode): Error | undefined {
    const state = this.loaded.get(node);
    return state === true ? undefined : (state ?? new Error('its scripts are not loaded yet'));
  }

  /** Forgets whether a node has the scripts. After a reconnect, another server may have its address. */
  forget(node: RedisNode): void {
    this.loaded.delete(node);
    this.loading.delete(node);
  }

  /**
   * Loads all scripts on a node, or waits for a load that is in flight. A check for missing scripts that is in flight may have come too
   * early, before Redis lost its scripts, so the check is repeated. Never rejects; `problem` returns the error.
   */
  load(node: RedisNode): Promise<void> {
    const check = this.checks.get(node);
    if (check !== undefined && check === this.loading.get(node)) return check.then(() => this.loadMissing(node));
    return this.once(node, () => this.sendLoads(node, [...this.scripts.values()]));
  }

  /**
   * Asks a node with SCRIPT EXISTS which scripts it lacks, and loads these scripts. If a load or a check of the node is in flight, only
   * waits until it has ended.
   */
  loadMissing(node: RedisNode): Promise<void> {
    const running = this.loading.get(node);
    if (running) return running;
    const check = this.once(node, async () => {
      const scripts = [...this.scripts.values()];
      if (scripts.length === 0) return 0;
      const present = (await node.send('SCRIPT', ['EXISTS', ...scripts.map(({ sha }) => sha)])) as (number | string)[];
      return this.sendLoads(
        node,
        scripts.filter((_, i) => Number(present[i]) !== 1),
      );
    });
    this.checks.set(node, check);
    return check;
  }

  /**
   * Checks all connected nodes for missing scripts after half a second. Calling this method again during that time has no further effect.
   */
  verifySoon(): void {
    this.verifyTimer ??= setTimeout(() => {
      this.verifyTimer = undefined;
      for (const node of this.connection.nodes()) if (node.ready) void this.loadMissing(node);
    }, VERIFY_DEBOUNCE_MS).unref();
  }

  close(): void {
    clearTimeout(this.verifyTimer);
  }

  private once(node: RedisNode, work: () => Promise<number>): Promise<void> {
    const running = this.loading.get(node);
    if (running) return running;
    const { size } = this.scripts;
    const settle = (outcome: Error | true, scripts: number): void => {
      // If the connection on which the scripts were loaded has closed since, the result says nothing about the node now.
      if (this.loading.get(node) !== done) return;
      this.settle(node, outcome, scripts);
      this.loading.delete(node);
      // Scripts that were added during this load are not loaded yet.
      if (this.scripts.size > size) void this.loadMissing(node);
    };
    const done: Promise<void> = work().then(
      (scripts) => settle(true, scripts),
      (error: unknown) => settle(asError(error), 0),
    );
    this.loading.set(node, done);
    return done;
  }

  private settle(node: RedisNode, outcome: Error | true, scripts: number): void {
    const first = !this.loaded.has(node);
    this.loaded.set(node, outcome);
    const error = outcome === true ? undefined : outcome;
    events.scriptsLoaded.publish(() => ({ registry: this.registry, node: node.id, scripts, error }));
    if (first) this.onLoaded();
  }

  /** Sends all SCRIPT LOAD commands at once, so that they take one round trip. @returns the number of scripts */
  private async sendLoads(node: RedisNode, scripts: readonly LoadableScript[]): Promise<number> {
    const replies = await Promise.allSettled(scripts.map(({ body }) => node.send('SCRIPT', ['LOAD', body])));
    for (const [i, reply] of replies.entries()) {
      if (reply.status === 'rejected') {
        const error = asError(reply.reason);
        throw new Error(explained(error.message), { cause: error });
      }
      const expected = scripts[i]?.sha;
      if (String(reply.value) !== expected) {
        throw new Error(
          `${node.id} replied to SCRIPT LOAD with ${String(reply.value)} instead of the SHA1 ${expected}. Is it a Redis server?`,
        );
      }
    }
    return scripts.length;
  }
}
