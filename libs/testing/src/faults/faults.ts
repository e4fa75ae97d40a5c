import { CommandFailure, type RedisConnection } from '../../../script-registry/src/internal';
import { Checks, type KnownOptions } from '../../../internal/src';
import type { AppScripts } from './app-scripts';

/** Way in which a call fails, see `Faults.nextCall`. */
export type Fault = 'not-sent' | 'unknown' | 'refused';

/** Options of `Faults.nextCall`. */
export interface FaultOptions {
  /** Name of the script whose next call fails, such as `lock.acquire`. Default: the next call of any script. */
  readonly script?: string;
  /** For `unknown`: true if the script runs before its reply is lost. Default true. */
  readonly runs?: boolean;
}

interface Armed extends FaultOptions {
  readonly fault: Fault;
}

/** Reply of Redis 7 to EVALSHA while its memory is full. */
const REFUSAL = "OOM command not allowed when used memory > 'maxmemory'.";
const KNOWN: KnownOptions<FaultOptions> = { script: true, runs: true };
const checks = new Checks('LuanestTesting.faults.nextCall');

/** Faults that the test has requested with `nextCall`, until they happen. */
export class ArmedFaults {
  private armed: Armed[] = [];

  constructor(private readonly scripts: AppScripts) {}

  get size(): number {
    return this.armed.length;
  }

  add(fault: Fault, options: FaultOptions): void {
    checks.choice('fault', fault, ['not-sent', 'unknown', 'refused']);
    const { script } = checks.options('', options, KNOWN);
    const names = script === undefined ? [] : this.scripts.names();
    if (script !== undefined && !names.includes(script)) {
      checks.refuse('script', script, `a script that the app has registered: ${names.join(', ') || 'none'}`);
    }
    this.armed.push({ fault, ...options });
  }

  clear(): void {
    this.armed = [];
  }

  /** Drops the faults that have not happened. @returns the calls of `nextCall` that requested them, as text */
  takeLeft(): string[] {
    return this.armed.splice(0).map(({ fault, ...options }) => {
      const given = Object.keys(options).length === 0 ? '' : `, ${JSON.stringify(options)}`;
      return `nextCall('${fault}'${given})`;
    });
  }

  /** Makes the commands of a connection fail as the test has requested. */
  inject(registry: string, connection: RedisConnection): void {
    for (const node of connection.nodes()) {
      const run = node.run.bind(node);
      node.run = (name, args, receiver) => {
        const armed = this.take(registry, name, args);
        if (!armed) return run(name, args, receiver);
        const fail = (): void => queueMicrotask(() => receiver.failed(failureOf(armed, node.id)));
        if (runsFirst(armed)) run(name, args, { replied: fail, failed: (failure) => receiver.failed(failure) });
        else fail();
      };
    }
    // Calls that wait for replicas use a dedicated connection, which must fail, too.
    const dedicated = connection.dedicated.bind(connection);
    connection.dedicated = async (node) => {
      const own = await dedicated(node);
      return {
        sendAll: async (commands) => {
          const armed = commands.map(([name, args]) => this.take(registry, name, args)).find(Boolean);
          if (!armed) return own.sendAll(commands);
          if (runsFirst(armed)) await own.sendAll(commands);
          return commands.map(() => failureOf(armed, node.id));
        },
        close: () => own.close(),
      };
    };
  }

  private take(registry: string, name: string, [head]: readonly unknown[]): Armed | undefined {
    if (this.armed.length === 0 || (name !== 'EVALSHA' && name !== 'EVAL')) return undefined;
    const fits = ({ script }: Armed): boolean => script === undefined || this.scripts.isCallOf(registry, script, head);
    const index = this.armed.findIndex(fits);
    return index < 0 ? undefined : this.armed.splice(index, 1)[0];
  }
}

function runsFirst({ fault, runs = true }: Armed): boolean {
  return fault === 'unknown' && runs;
}

function failureOf({ fault }: Armed, node: string): CommandFailure {
  if (fault === 'not-sent') return new CommandFailure('not-sent', `${node} is not connected, or not ready yet`);
  if (fault === 'refused') return new CommandFailure('reply', REFUSAL);
  return new CommandFailure('lost', `The connection to ${node} closed before the reply`);
}
