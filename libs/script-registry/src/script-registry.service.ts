import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ChannelListeners } from './channel-listeners';
import type { RedisConnection } from './connection/port';
import { fingerprint, type AnyScript, type ArgsOf, type KeysOf, type ScriptDefinition } from './define-script';
import { Call, type Wait } from './group/call';
import { CompiledScript } from './group/compiled-script';
import { Deadlines } from './group/deadlines';
import type { Lane } from './group/lane';
import { ScriptRunner, type RunnerContext } from './group/runner';
import { KeySpace } from './key-space';
import type { LoadableScript } from './lua/forms';
import { events, withCallEvents } from './script-registry.events';
import { Preload } from './preload';
import { ScriptLoader } from './script-loader';
import {
  NotSentError,
  ScriptConflictError,
  ScriptNotRegisteredError,
  UnknownOutcomeError,
} from './script-registry.errors';
import { Checks, slotOf } from '../../internal/src';
import type { ResolvedScriptRegistryOptions } from './script-registry.options';
import type { RunAndWaitOptions, RunOptions, ScriptHealth, WaitedResult } from './script-registry.types';

const REFRESH_WHILE_HELD_MS = 100;
const checks = new Checks('ScriptRegistry');
const NO_OPTIONS: RunOptions = Object.freeze({});

/** Runs typed scripts on one Redis server or Cluster. It loads scripts on all nodes, groups calls, and ends each at its deadline. */
export class ScriptRegistry implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(ScriptRegistry.name);
  private readonly runners = new Map<AnyScript, ScriptRunner>();
  private readonly busy = new Set<Lane>();
  private readonly deadlines: Deadlines;
  private readonly loader: ScriptLoader;
  private readonly preload: Preload;
  private readonly channels: ChannelListeners;
  private readonly context: RunnerContext;
  private refreshTimer: NodeJS.Timeout | undefined;
  private closed = false;
  private clientEnded: Promise<void> | undefined;

  /**
   * @param name of the registry, for logs and events
   * @param connection is closed with the registry, but not the client that it uses
   * @param endClient ends the client; only given if the registry made it
   */
  constructor(
    readonly name: string,
    private readonly connection: RedisConnection,
    private readonly options: ResolvedScriptRegistryOptions,
    private readonly endClient?: () => Promise<void>,
  ) {
    this.deadlines = new Deadlines(this.busy, (call) => this.expire(call));
    this.loader = new ScriptLoader(name, connection, () => this.pump());
    this.preload = new Preload(connection, this.loader, options, this.logger, () => this.pump());
    this.channels = new ChannelListeners(connection);
    this.context = {
      registry: name,
      connection,
      loader: this.loader,
      maxGroupsInFlight: options.maxGroupsInFlight,
      busy: this.busy,
      held: () => {
        this.deadlines.hold();
        this.refreshSoon();
      },
      idle: () => this.deadlines.rest(),
    };
  }

  /** Loads every registered script on every node. @throws PreloadFailedError with `preload: 'required'` */
  async onModuleInit(): Promise<void> {
    try {
      await this.preload.start();
    } catch (error) {
      this.close();
      await this.clientEnded;
      throw error;
    }
  }

  /** Closes the registry, and waits until a client that it made has ended. */
  async onApplicationShutdown(): Promise<void> {
    this.close();
    await this.clientEnded;
  }

  /**
   * Registers scripts. Scripts that are registered after boot are loaded at once.
   *
   * @throws ScriptConflictError if a different script has the same name
   */
  register(scripts: readonly AnyScript[]): void {
    const forms: LoadableScript[] = [];
    for (const definition of scripts) {
      if (this.runners.has(definition)) continue;
      for (const other of this.runners.keys()) {
        if (other.name === definition.name && fingerprint(other) !== fingerprint(definition)) {
          throw new ScriptConflictError(
            `ScriptRegistryModule: Two different scripts of registry "${this.name}" are named ${definition.name}. Rename one of them.`,
          );
        }
      }
      const script = new CompiledScript(definition, this.options.grouping, this.connection.stringNumbers);
      this.runners.set(definition, new ScriptRunner(script, this.context));
      forms.push(...script.forms);
    }
    this.loader.add(forms);
  }

  /**
   * Runs a script and returns its decoded reply.
   *
   * Calls of one script and slot start in the order in which they were made.
   *
   * @throws InvalidCallError, CrossSlotError, ScriptNotRegisteredError before anything is sent
   * @throws NotSentError if no node accepted the call before its deadline: it had no effect
   * @throws ScriptRefusedError if Redis refused to run it: it had no effect
   * @throws ScriptFailedError if the script itself failed: its writes before the failure stay
   * @throws UnknownOutcomeError if a reply was lost or late: it may have run
   * @throws ReplyDecodeError if it ran, and `reply` threw
   */
  run<K extends readonly string[], A, R>(
    script: ScriptDefinition<K, A, R>,
    input: { readonly keys: KeysOf<K>; readonly args: ArgsOf<A> },
    options?: RunOptions,
  ): Promise<R> {
    if (!events.callEnded.hasSubscribers) return this.start(script, input, options, undefined);
    return withCallEvents(this.name, script.name, () => this.start(script, input, options, undefined));
  }

  /**
   * Runs a script and then WAITs for replicas, both on a connection that the registry opens for this.
   *
   * Calls of `run` and `runAndWait` are ordered only if you await them. Throws the same errors as `run`.
   *
   * @throws InvalidOptionError if `replicas` or `timeoutMs` is invalid, or `timeoutMs` is not less than the deadline
   */
  async runAndWait<K extends readonly string[], A, R>(
    script: ScriptDefinition<K, A, R>,
    input: { readonly keys: KeysOf<K>; readonly args: ArgsOf<A> },
    options: RunAndWaitOptions,
  ): Promise<WaitedResult<R>> {
    const { replicas, timeoutMs, deadlineMs = this.options.deadlineMs } = options;
    const wait = {
      replicas: checks.integer('replicas', replicas, 1, Number.MAX_SAFE_INTEGER),
      timeoutMs: checks.integer('timeoutMs', timeoutMs, 1),
    };
    if (timeoutMs >= deadlineMs) {
      throw checks.error(`timeoutMs is ${timeoutMs}. Expected less than the call's deadlineMs, ${deadlineMs}.`);
    }
    if (!events.callEnded.hasSubscribers) return this.start(script, input, options, wait);
    return withCallEvents(this.name, script.name, () => this.start(script, input, options, wait));
  }

  /** Deadline of calls without their own `deadlineMs`, ms. */
  get deadlineMs(): number {
    return this.options.deadlineMs;
  }

  /** True for a Redis Cluster, where keys are in slots on several nodes. */
  get clustered(): boolean {
    return this.connection.clustered;
  }

  /** Returns the key space of a lib under this registry's prefix. @throws InvalidKeyError for a lib that is not kebab-case */
  keySpace(lib: string): KeySpace {
    return new KeySpace(this.options.prefix, lib);
  }

  /**
   * Listens to the sharded channel that has the name of a key, on the master of the key's slot. Scripts publish to it with
   * `SPUBLISH`. All listeners of a node share one connection, which is closed with the registry.
   *
   * @param listener called at each message, and once if messages may have been missed, because the connection closed or the
   * slot moved. After that it is not called until you call `listen` again.
   * @returns a function that stops it
   * @throws NotSentError if the node is not connected, or refuses the subscription
   */
  listen(key: string, listener: () => void): Promise<() => void> {
    return this.channels.listen(slotOf(key), key, listener);
  }

  /** Checks that every node replies, has all scripts and lets this user run them. @param timeoutMs for each node, ms; default 1,000 */
  async health(timeoutMs = 1_000): Promise<ScriptHealth> {
    return this.preload.health(checks.integer('timeoutMs', timeoutMs, 1));
  }

  /**
   * Rejects all calls in flight, removes the registry's listeners from the client and closes the connections that the
   * registry opened. A client that the registry made ends within a second. Can be called twice.
   */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const lane of [...this.busy]) lane.drain((call) => this.expire(call));
    clearTimeout(this.refreshTimer);
    this.deadlines.close();
    this.preload.close();
    this.loader.close();
    this.channels.close();
    this.connection.close();
    this.clientEnded = this.endClient?.();
  }

  private start<R>(
    script: AnyScript,
    input: { readonly keys: object; readonly args: object },
    options: RunOptions | undefined,
    wait: Wait | undefined,
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const runner = this.runners.get(script);
      if (this.closed)
        throw new NotSentError(`${script.name} was not sent: registry "${this.name}" is closed. It had no effect.`);
      if (!runner) throw this.notRegistered(script);
      const { deadlineMs, startedAtMs } = options ?? NO_OPTIONS;
      const limitMs = deadlineMs === undefined ? this.options.deadlineMs : checks.integer('deadlineMs', deadlineMs, 1);
      const expiresAt = this.deadlines.dueAt(startedAtMs ?? performance.now(), limitMs);
      const call = new Call(script, expiresAt, wait, resolve, reject);
      runner.script.encode(call, input.keys as Record<string, unknown>, input.args as Record<string, unknown>);
      runner.submit(call);
      this.deadlines.watch(expiresAt);
    });
  }

  private expire(call: Call): void {
    const { name } = call.script;
    const when = this.closed ? 'before the registry was closed' : 'by its deadline';
    const error = call.mayHaveRun
      ? new UnknownOutcomeError(`${name} was sent, and no reply came ${when}. It may have run, or may still run.`)
      : new NotSentError(`${name} was not sent ${when}: Redis was unavailable or busy. It had no effect.`);
    if (call.reject(error)) events.callFailed.publish(() => ({ registry: this.name, script: name, error }));
  }

  private notRegistered(script: AnyScript): ScriptNotRegisteredError {
    const known = [...this.runners.keys()].map(({ name }) => name).join(', ') || 'none';
    return new ScriptNotRegisteredError(
      `${script.name} is not registered with registry "${this.name}". Import ScriptRegistryModule.forFeature([...]) with it. Registered: ${known}.`,
    );
  }

  private pump(): void {
    for (const lane of [...this.busy]) lane.pump();
  }

  /** Refreshes the client's slot table soon: while calls are held, nothing is sent that would make the client notice a failover. */
  private refreshSoon(): void {
    this.refreshTimer ??= setTimeout(() => {
      this.refreshTimer = undefined;
      this.connection.refresh();
      this.pump();
    }, REFRESH_WHILE_HELD_MS);
  }
}
