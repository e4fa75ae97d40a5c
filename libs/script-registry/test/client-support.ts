import { EventEmitter } from 'node:events';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { CommandFailure } from '../src/connection/port';
import type { SentCommand } from '../src/connection/ioredis-node';

/** Parts of a client of ioredis that luanest uses, without a socket. The test replies to the commands. */
export class FakeClient extends EventEmitter {
  status = 'ready';
  stream: unknown = { writable: true, cork: () => this.calls.push('cork'), uncork: () => this.calls.push('uncork') };
  condition: unknown;
  /** Names of the methods that were called, in order. */
  readonly calls: string[] = [];
  /** Commands that were written. */
  readonly commands: SentCommand[] = [];
  /** Clients that `duplicate` made. */
  readonly duplicates: FakeClient[] = [];
  /** Makes `sendCommand` and `connect` fail. */
  failure: Error | undefined;

  constructor(readonly options: RedisOptions = {}) {
    super();
  }

  get redis(): Redis {
    return this as unknown as Redis;
  }

  /** The command that was written last. */
  get last(): SentCommand {
    return this.commands.at(-1) as SentCommand;
  }

  sendCommand(command: SentCommand): Promise<unknown> {
    if (this.failure) throw this.failure;
    command.toWritable({});
    this.commands.push(command);
    return command.promise as Promise<unknown>;
  }

  connect(): Promise<void> {
    this.calls.push('connect');
    return this.failure ? Promise.reject(this.failure) : Promise.resolve();
  }

  disconnect(): void {
    this.calls.push('disconnect');
  }

  asking(): Promise<unknown> {
    return this.failure ? Promise.reject(this.failure) : Promise.resolve('OK');
  }

  duplicate(options: RedisOptions): FakeClient {
    const copy = new FakeClient({ ...this.options, ...options });
    copy.failure = this.failure;
    this.duplicates.push(copy);
    return copy;
  }
}

/** The same of a Cluster. */
export class FakeCluster extends EventEmitter {
  readonly isCluster = true;
  status = 'ready';
  slots: string[][] = [];
  masters: FakeClient[] = [];
  replicas: FakeClient[] = [];
  readonly calls: string[] = [];
  readonly commands: SentCommand[] = [];
  failure: Error | undefined;

  constructor(readonly options: { redisOptions?: RedisOptions; keyPrefix?: string } = {}) {
    super();
  }

  get cluster(): Cluster {
    return this as unknown as Cluster;
  }

  get last(): SentCommand {
    return this.commands.at(-1) as SentCommand;
  }

  nodes(role = 'all'): FakeClient[] {
    return role === 'master' ? this.masters : role === 'slave' ? this.replicas : [...this.masters, ...this.replicas];
  }

  sendCommand(command: SentCommand): Promise<unknown> {
    if (this.failure) throw this.failure;
    command.toWritable({});
    this.commands.push(command);
    return command.promise as Promise<unknown>;
  }

  connect(): Promise<void> {
    this.calls.push('connect');
    return Promise.reject(new Error('unreachable'));
  }

  refreshSlotsCache(): void {
    this.calls.push('refresh');
  }
}

/** A Cluster of two masters and a replica. Slot 0 is on the first, slot 1 on the second, slot 2 on none. */
export function cluster(options: ConstructorParameters<typeof FakeCluster>[0] = {}): FakeCluster {
  const made = new FakeCluster(options);
  made.masters = [1, 2].map((port) => new FakeClient({ host: 'h', port }));
  made.replicas = [new FakeClient({ host: 'h', port: 3 })];
  made.slots = [['h:1'], ['h:2', 'h:3']];
  return made;
}

/** Returns an error reply of Redis. */
export function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** Returns what a promise is rejected with. */
export function failureOf(answer: Promise<unknown>): Promise<CommandFailure> {
  return answer.then(
    () => Promise.reject(new Error('It was not rejected.')),
    (error: unknown) => error as CommandFailure,
  );
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
