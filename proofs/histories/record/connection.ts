import { Redis } from 'ioredis';
import { ScriptRegistry, type ScriptDefinition } from 'luanest/script-registry';
import { connectIoredis } from '../../../libs/script-registry/src/connection/ioredis-connection';
import { resolveOptions } from '../../../libs/script-registry/src/script-registry.options';
import { nowMs } from './journal';

/** Longest wait for Redis of one call, ms: shorter than the longest pauses of Redis, so that outcomes stay unknown. */
const DEADLINE_MS = 400;

type Run = (
  script: ScriptDefinition,
  input: unknown,
  options?: Parameters<ScriptRegistry['run']>[2],
) => Promise<unknown>;

/** A seeded defect, for the tests of the checker: runs a script in another way. */
export interface Seed {
  /** Name of the script. */
  readonly script: string;
  /** Scripts that `run` needs. */
  readonly scripts: readonly ScriptDefinition[];
  readonly run: (
    run: Run,
    input: unknown,
    options: Parameters<ScriptRegistry['run']>[2] | undefined,
  ) => Promise<unknown>;
}

export interface ConnectionSettings {
  readonly port: number;
  readonly prefix: string;
  /** True: ioredis sends calls again whose reply was lost, as is its default. */
  readonly resend: boolean;
  readonly scripts: readonly ScriptDefinition[];
  readonly seeds?: readonly Seed[];
}

/** A client with a registry, as an app makes them. */
export class Connection {
  /** How often a connection was closed on which calls can have been sent. */
  closes = 0;
  /** When it was closed last, by `nowMs`. */
  closedAt = -Infinity;
  private ready = false;

  private constructor(
    private readonly client: Redis,
    readonly registry: ScriptRegistry,
  ) {
    client.on('ready', () => (this.ready = true));
    client.on('close', () => {
      // Nothing was sent on a connection that was refused.
      if (this.ready) this.closes += 1;
      this.ready = false;
      this.closedAt = nowMs();
    });
  }

  static async open({ port, prefix, resend, scripts, seeds = [] }: ConnectionSettings): Promise<Connection> {
    const client = new Redis(port, '127.0.0.1', {
      autoResendUnfulfilledCommands: resend,
      maxRetriesPerRequest: null,
      retryStrategy: () => 20,
    });
    // Faults are the subject here: ioredis need not print them.
    client.on('error', () => undefined);
    const options = resolveOptions({ prefix, deadlineMs: DEADLINE_MS, preload: 'best-effort' });
    const registry = new ScriptRegistry('default', connectIoredis(client), options);
    const replaced = new Set(seeds.flatMap((seed) => seed.scripts.map(({ name }) => name)));
    registry.register([...scripts.filter(({ name }) => !replaced.has(name)), ...seeds.flatMap((seed) => seed.scripts)]);
    for (const seed of seeds) plant(registry, seed);
    const connection = new Connection(client, registry);
    await registry.onModuleInit();
    connection.ready = client.status === 'ready';
    return connection;
  }

  close(): void {
    this.registry.close();
    this.client.disconnect();
  }
}

function plant(registry: ScriptRegistry, seed: Seed): void {
  const run = registry.run.bind(registry) as unknown as Run;
  const seeded: Run = (script, input, options) =>
    script.name === seed.script ? seed.run(run, input, options) : run(script, input, options);
  Object.defineProperty(registry, 'run', { value: seeded, configurable: true });
}
