import { asError } from './group/settle';
import type { LoadableScript } from './lua/forms';
import type { RedisConnection, RedisNode } from './connection/port';
import { events } from './script-registry.events';

const VERIFY_DEBOUNCE_MS = 500;

// See DECISIONS.md: heal-per-node
/** Puts scripts on nodes, keeps them there, and knows which nodes have them. */
export class ScriptLoader {
  private readonly scripts = new Map<string, LoadableScript>();
  private readonly loading = new WeakMap<RedisNode, Promise<void>>();
  private readonly loaded = new WeakMap<RedisNode, Error | true>();
  private verifyTimer: NodeJS.Timeout | undefined;

  /** @param onLoaded called when a node that lacked the scripts is settled, so that calls held for it may leave */
  constructor(
    private readonly registry: string,
    private readonly connection: RedisConnection,
    private readonly onLoaded: () => void,
  ) {}

  /** Every SHA that a node must know. */
  get shas(): string[] {
    return [...this.scripts.keys()];
  }

  /** Adds scripts; nodes that are up get them now. */
  add(scripts: readonly LoadableScript[]): void {
    for (const script of scripts) this.scripts.set(script.sha, script);
    for (const node of this.connection.nodes()) if (this.loaded.has(node)) void this.loadMissing(node);
  }

  /** Whether calls may be sent to the node: its load has been tried, with or without success. */
  settled(node: RedisNode): boolean {
    return this.loaded.has(node);
  }

  /** Why a node lacks scripts, or undefined when it has them all. */
  problem(node: RedisNode): Error | undefined {
    const state = this.loaded.get(node);
    return state === true ? undefined : (state ?? new Error(`scripts have not been loaded on ${node.id} yet`));
  }

  /** Forgets what is known of a node, whose server may be another one after a reconnect. */
  forget(node: RedisNode): void {
    this.loaded.delete(node);
    this.loading.delete(node);
  }

  /** Loads every script on a node; calls that come while a load runs share it. */
  load(node: RedisNode): Promise<void> {
    return this.once(node, () => this.sendLoads(node, [...this.scripts.values()]));
  }

  /** Asks a node which scripts it has and loads the others, so that a healthy node is never sent a body again. */
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

  /** Soon, asks every node which scripts it has. A burst of topology events makes one round. */
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
        // A later connection's load may have taken this one's place.
        if (this.loading.get(node) === done) this.loading.delete(node);
        // Scripts that were added meanwhile were in no list that this run sent.
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

  /** One pipelined trip: all loads are written before the first answer is awaited. */
  private async sendLoads(node: RedisNode, scripts: readonly LoadableScript[]): Promise<number> {
    const answers = await Promise.allSettled(scripts.map(({ body }) => node.send('SCRIPT', ['LOAD', body])));
    for (const [i, answer] of answers.entries()) {
      if (answer.status === 'rejected') {
        const error = asError(answer.reason);
        throw new Error(scripts[i]?.lines.inScript(error.message) ?? error.message, { cause: error });
      }
      const expected = scripts[i]?.sha;
      if (String(answer.value) !== expected) {
        throw new Error(`${node.id} replied to SCRIPT LOAD with ${String(answer.value)} instead of ${expected}`);
      }
    }
    return scripts.length;
  }
}
