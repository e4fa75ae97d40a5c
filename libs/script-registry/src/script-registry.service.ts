import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ChannelListeners } from './channel-listeners';
import { keyEventsOf } from './connection/key-events';
import type { RedisConnection, RedisNode } from './connection/port';
import { Call, Deadlines, type Wait } from './pipe/call';
import { expiryError } from './pipe/settle';
import { type Lane, MAX_CALLS_IN_FLIGHT, type PipeContext, ScriptPipe } from './pipe/script-pipe';
import { ScriptCodec } from './pipe/script-codec';
import { KeySpace } from './key-space';
import { events, withCallEvents } from './script-registry.events';
import { Preload } from './preload';
import { RegisteredScripts } from './registered-scripts';
import type { ScriptDefinition, ScriptInput } from './script-definition';
import { ScriptLoader } from './script-loader';
import { NotSentError } from './script-registry.errors';
import { Checks, CONSOLE, endLast, INSPECT, slotOf } from '../../internal/src';
import type { ResolvedScriptRegistryOptions } from './script-registry.options';
import type { RunAndWaitOptions, RunOptions, ScriptHealth, WaitedResult } from './script-registry.types';

const REFRESH_WHILE_HELD_MS = 100;
const checks = new Checks('ScriptRegistry');
const NO_OPTIONS: RunOptions = Object.freeze({});

/**
 * Runs typed scripts on one Redis server or Cluster: loads the scripts on all nodes, sends concurrent calls together, and
 * rejects a call at its deadline.
 */
export class ScriptRegistry implements OnModuleInit, OnApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'ScriptRegistry';

  private readonly logger: Logger;
  private readonly scripts: RegisteredScripts;
  private readonly busy = new Set<Lane>();
  private readonly deadlines: Deadlines;
  private readonly loader: ScriptLoader;
  private readonly preload: Preload;
  private readonly channels: ChannelListeners;
  private readonly context: PipeContext;
  private refreshTimer: NodeJS.Timeout | undefined;
  private closed = false;
  private clientEnded: Promise<void> | undefined;

  /**
   * @param name name in errors and events: the name that `forRoot` got, or `default`
   * @param connection connection to Redis. `close()` closes this object, but not the client in it
   * @param client functions for a client that ScriptRegistry created: `close()` calls `end`, and `lastError` returns why the client is not
   *   connected. Undefined if the app created the client
   */
  constructor(
    readonly name: string,
    private readonly connection: RedisConnection,
    private readonly options: ResolvedScriptRegistryOptions,
    private readonly client?: { readonly end?: () => Promise<void>; readonly lastError?: () => string | undefined },
  ) {
    this.logger = new Logger(`ScriptRegistry ${name}`);
    this.scripts = new RegisteredScripts(name);
    this.deadlines = new Deadlines(
      (call) => this.expire(call),
      (expired) => this.tidy(expired),
    );
    this.loader = new ScriptLoader(name, connection, () => this.pump());
    this.channels = new ChannelListeners(connection);
    const changed = (reconnected?: RedisNode): void => {
      if (reconnected) return this.channels.reconnected(reconnected);
      this.channels.moved();
      this.pump();
    };
    this.preload = new Preload(connection, this.loader, options, this.logger, changed, client?.lastError);
    this.context = {
      registry: name,
      connection,
      loader: this.loader,
      maxCallsInFlight: MAX_CALLS_IN_FLIGHT,
      busy: this.busy,
      held: () => {
        this.deadlines.hold();
        this.refreshSoon();
      },
    };
  }

  /**
   * Loads all registered scripts on all nodes. With `preload: 'best-effort'`, logs a warning if a master lacks scripts or is not
   * connected.
   *
   * @throws PreloadFailedError if `preload` is `required`, and a master lacks scripts or is not connected
   */
  async onModuleInit(): Promise<void> {
    try {
      await this.preload.start();
    } catch (error) {
      this.close();
      await this.clientEnded;
      throw error;
    }
  }

  /**
   * Releases the locks that are still held, and closes this ScriptRegistry. If ScriptRegistry created the client, also waits until the
   * client has ended.
   */
  async onApplicationShutdown(): Promise<void> {
    await endLast(this);
    this.close();
    await this.clientEnded;
  }

  /**
   * Registers scripts. Scripts that are registered after boot are loaded at once on the nodes that are connected.
   *
   * @throws SetupError if two different scripts have the same name
   */
  register(scripts: readonly ScriptDefinition[]): void {
    const { grouping } = this.options;
    const added = this.scripts.add(
      scripts,
      (definition) => new ScriptPipe(new ScriptCodec(definition, grouping), this.context),
    );
    this.loader.add(added.flatMap(({ codec }) => codec.forms));
  }

  /**
   * Runs a script and returns its decoded reply.
   *
   * Calls of one script with keys in one slot are sent in the order in which you make them. Redis also runs them in this order, unless
   * ScriptRegistry must send some of them again, such as after a redirection or a lost connection.
   *
   * @throws InvalidInputError, SetupError, InvalidOptionError if the input or the options are invalid, or the script is not registered;
   *   nothing was sent
   * @throws NotSentError if the call could not be sent before its deadline, or if ScriptRegistry is closed; the call had no effect
   * @throws ScriptRefusedError if Redis refused to run the script; the call had no effect
   * @throws ScriptFailedError if the script failed, or Redis replied with an unknown error; writes before the failure stay
   * @throws UnknownOutcomeError if the reply was lost or late; the script may have run
   * @throws ReplyDecodeError if the script ran, and its reply could not be decoded
   *
   * @example
   * ```ts
   * const left = await registry.run(buy, { keys: { stock: 'stock:{7}' }, args: { count: 2 } }, { deadlineMs: 1_000 });
   * ```
   */
  run<K extends readonly string[], A, R>(
    script: ScriptDefinition<K, A, R>,
    input: ScriptInput<K, A>,
    options?: RunOptions,
  ): Promise<R> {
    const { callStarted, callEnded } = events;
    if (!callStarted.hasSubscribers && !callEnded.hasSubscribers) return this.start(script, input, options, undefined);
    return withCallEvents(this.name, script.name, () => this.start(script, input, options, undefined));
  }

  /**
   * Runs a script. Then waits (WAIT) until `options.replicas` replicas have its writes, at most `options.timeoutMs`. Both commands use
   * a separate connection, because WAIT blocks its connection. If fewer replicas have the writes in time, the call does not throw: the
   * result has their number. If a Cluster redirects the call, it is sent again without WAIT, and the number is 0.
   *
   * Calls of `run` and `runAndWait` are ordered only if you await them. Throws the same errors as `run`.
   *
   * @throws InvalidOptionError if `replicas` or `timeoutMs` is invalid, or `timeoutMs` is not less than the call's deadline
   */
  async runAndWait<K extends readonly string[], A, R>(
    script: ScriptDefinition<K, A, R>,
    input: ScriptInput<K, A>,
    options: RunAndWaitOptions,
  ): Promise<WaitedResult<R>> {
    const { replicas, timeoutMs, deadlineMs = this.options.deadlineMs } = options;
    const wait = {
      replicas: checks.integer('replicas', replicas, 1, Number.MAX_SAFE_INTEGER),
      timeoutMs: checks.integer('timeoutMs', timeoutMs, 1),
    };
    if (timeoutMs >= deadlineMs) {
      throw checks.error(
        `timeoutMs is ${timeoutMs} ms. Expected less than the deadlineMs of the call, which is ${deadlineMs} ms.`,
      );
    }
    return withCallEvents(this.name, script.name, () => this.start(script, input, options, wait));
  }

  /** Longest time of a call that has no `deadlineMs` of its own, ms: the option `deadlineMs`. */
  get deadlineMs(): number {
    return this.options.deadlineMs;
  }

  /** True for a Redis Cluster, which distributes keys by hash slot over several nodes. */
  get clustered(): boolean {
    return this.connection.clustered;
  }

  /**
   * Returns a builder for the keys of a lib. All keys begin with the option `prefix`.
   *
   * @throws InvalidInputError for an invalid `lib` or prefix
   */
  keySpace(lib: string): KeySpace {
    return new KeySpace(this.options.prefix, lib);
  }

  /**
   * Listens to the sharded Pub/Sub channel that has the same name as a key. Scripts publish to this channel with `SPUBLISH`. The
   * subscription is on the master of the key's slot. All listeners of a node share one connection, which `close()` closes.
   *
   * @param listener called with the text of each message. It is called once without a text when the subscription has ended: the
   *   connection closed, or did not reply to two checks 5 s apart, or the client reconnected, or the slot moved. Then you must call
   *   `listen` again to get more messages. The listener may also be called once without a text if `listen` rejects. A call without a text
   *   also comes if the clock of the node was set forward; the subscription then stays
   * @returns a function that stops calling the listener
   * @throws NotSentError if the subscription fails, or ScriptRegistry is closed
   */
  listen(key: string, listener: (message?: string) => void): Promise<() => void> {
    return this.channels.listen(slotOf(key), key, listener);
  }

  /**
   * Listens to the keyspace notifications of a key, such as `xadd`, on the master of the key's slot. Redis sends them only if its setting
   * `notify-keyspace-events` has `K` and the class of the events. The Redis user needs permission for the channel
   * `__keyspace@<db>__:<key>`.
   *
   * @param listener called with the name of each event; called without a name whenever a listener of `listen` would be called without a
   *   text
   * @returns a function that stops calling the listener
   * @throws NotSentError if the subscription fails, or ScriptRegistry is closed
   */
  listenToKey(key: string, listener: (event?: string) => void): Promise<() => void> {
    return this.channels.listen(slotOf(key), keyEventsOf(key), listener);
  }

  /**
   * Checks that every node replies, has all scripts, and allows the Redis user to run scripts. Returns the problems that it finds; it
   * does not throw them.
   *
   * @param timeoutMs longest time for the check of each node, ms; integer >= 1; default 1,000
   * @throws InvalidOptionError if `timeoutMs` is invalid
   */
  async health(timeoutMs = 1_000): Promise<ScriptHealth> {
    return this.preload.health(checks.integer('timeoutMs', timeoutMs, 1));
  }

  /**
   * Rejects all calls that have no reply yet, removes the listeners of ScriptRegistry from the client, and closes the connections that
   * ScriptRegistry opened. If ScriptRegistry created the client, the client gets one second to quit. A second call does nothing.
   */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.deadlines.rejectAll();
    for (const lane of this.busy) lane.dropSettled();
    clearTimeout(this.refreshTimer);
    this.deadlines.close();
    this.preload.close();
    this.loader.close();
    this.channels.close();
    this.connection.close();
    this.clientEnded = this.client?.end?.();
  }

  /** Returns the registered scripts for `luanest/testing`, each with the texts that EVAL runs, and their SHA1 hashes. */
  [INSPECT](): readonly Pick<ScriptCodec, 'name' | 'forms'>[] {
    return [...this.scripts.pipes.values()].map(({ codec }) => codec);
  }

  /** Returns the prefix of all keys and the nodes for `luanest/console`, which also sends commands such as INFO. */
  [CONSOLE](): { readonly prefix: string; nodes(): readonly RedisNode[] } {
    return { prefix: this.options.prefix, nodes: () => this.connection.nodes() };
  }

  private start<R>(
    script: ScriptDefinition,
    input: { readonly keys: object; readonly args: object },
    options: RunOptions | undefined,
    wait: Wait | undefined,
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const pipe = this.scripts.pipes.get(script);
      if (pipe === undefined) throw this.scripts.unknown(script);
      if (this.closed) {
        throw new NotSentError(
          `The script ${script.name} was not sent, because ScriptRegistry "${this.name}" is closed: the app is shutting down.`,
        );
      }
      const { deadlineMs, startedAtMs } = options ?? NO_OPTIONS;
      const limitMs = deadlineMs === undefined ? this.options.deadlineMs : checks.integer('deadlineMs', deadlineMs, 1);
      const expiresAt = this.deadlines.dueAt(startedAtMs ?? performance.now(), limitMs);
      const call = new Call(script, expiresAt, wait, resolve, reject);
      pipe.codec.encode(call, input);
      this.deadlines.watch(call);
      pipe.submit(call);
    });
  }

  /**
   * Removes the queues of calls that are empty. Each script has a queue per hash slot.
   *
   * @param expired true if calls were rejected at their deadline
   * @returns false if no queue is left
   */
  private tidy(expired: boolean): boolean {
    for (const lane of [...this.busy]) {
      if (expired) lane.dropSettled();
      if (lane.idle) lane.release();
    }
    return this.busy.size > 0;
  }

  private expire(call: Call): void {
    const error = expiryError(call, this.closed);
    if (call.reject(error)) events.callFailed.publish(() => ({ registry: this.name, script: call.script.name, error }));
  }

  private pump(): void {
    for (const lane of [...this.busy]) lane.pump();
  }

  /**
   * Makes the client of a Cluster read the nodes again after 100 ms, then sends waiting calls. A client notices a failover by the replies
   * that it gets, but there may be none while all calls wait for a node.
   */
  private refreshSoon(): void {
    this.refreshTimer ??= setTimeout(() => {
      this.refreshTimer = undefined;
      this.connection.refresh();
      this.pump();
    }, REFRESH_WHILE_HELD_MS);
  }
}
