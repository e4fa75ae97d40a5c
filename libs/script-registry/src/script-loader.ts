import { asError } from './group/settle';
import type { LoadableScript } from './lua/forms';
import type { RedisConnection, RedisNode } from './connection/port';
import { events } from './script-registry.events';

const VERIFY_DEBOUNCE_MS = 500;

// See DECISIONS.md: heal-per-node
/** Loads scripts on nodes, and knows which nodes have them. */
export class ScriptLoader {
  private readonly scripts = new Map<string, LoadableScript>();
  private readonly loading = new WeakMap<RedisNode, Promise<void>>();
  private readonly loaded = new WeakMap<RedisNode, Error | true>();
  private verifyTimer: NodeJS.Timeout | undefined;

  /** @param onLoaded called after the first load of a node, so that calls that wait for it can be sent */
  constructor(
    private readonly registry: string,
    private readonly connection: RedisConnection,
    private readonly onLoaded: () => void,
  ) {}

  /** SHAs of all scripts. */
  get shas(): string[] {
    return [...this.scripts.keys()];
  }

  /** Adds scripts, and loads them on the nodes whose first load is done. */
  add(scripts: readonly LoadableScript[]): void {
    for (const script of scripts) this.scripts.set(script.sha, script);
    for (const node of this.connection.nodes()) if (this.loaded.has(node)) void this.loadMissing(node);
  }

  /** Returns true if calls may be sent to the node: its first load has ended, with or without success. */
  settled(node: RedisNode): boolean {
    return this.loaded.has(node);
  }

  /** Returns the error of the node's last load; undefined if it has all scripts. */
  problem(node: RedisNode): Error | undefined {
    const state = this.loaded.get(node);
    return state === true ? undefined : (state ?? new Error(`scripts have not been loaded on ${node.id} yet`));
  }

  /** Forgets the state of a node: after a reconnect the server may be another one. */
  forget(node: RedisNode): void {
    this.loaded.delete(node);
    this.loading.delete(node);
  }

  /** Loads all scripts on a node. While a load runs, further calls of this method return the same promise. */
  load(node: RedisNode): Promise<void> {
    return this.once(node, () => this.sendLoads(node, [...this.scripts.values()]));
  }

  /** Checks which scripts a node has (SCRIPT EXISTS), and loads the missing ones only. */
  loadMissing(node: RedisNode): Promise<void> {
    return this.once(node, async () => {
      const scripts = [...this.scripts.values()];
      const present = (await node.send('SCRIPT', ['EXISTS', ...scripts.map(({ sha }) => sha)])) as (number | string)[];
      return this.sendLoads(
        node,
        scripts.filter((_, i) => Number(present[i]) !== 1),
      );
    });
  }

  /** Calls `loadMissing` for all nodes after half a second. Calls in that time are merged into one. */
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
    const done: Promise<void> = work()
      .then(
        (scripts) => this.settle(node, true, scripts),
        (error: unknown) => this.settle(node, asError(error), 0),
      )
      .then(() => {
        // The load of a later connection may have replaced this one.
        if (this.loading.get(node) === done) this.loading.delete(node);
        // Scripts that were added while this load ran are not loaded yet.
        if (this.scripts.size > size) void this.loadMissing(node);
      });
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

  /** Writes all loads before it awaits the first reply: one round trip. */
  private async sendLoads(node: RedisNode, scripts: readonly LoadableScript[]): Promise<number> {
    const replies = await Promise.allSettled(scripts.map(({ body }) => node.send('SCRIPT', ['LOAD', body])));
    for (const [i, reply] of replies.entries()) {
      if (reply.status === 'rejected') {
        const error = asError(reply.reason);
        throw new Error(scripts[i]?.lines.inScript(error.message) ?? error.message, { cause: error });
      }
      const expected = scripts[i]?.sha;
      if (String(reply.value) !== expected) {
        throw new Error(`${node.id} replied to SCRIPT LOAD with ${String(reply.value)} instead of ${expected}`);
      }
    }
    return scripts.length;
  }
}
