import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ScriptRegistryEvents } from 'luanest/script-registry';
import { CommandFailure, type RedisConnection } from '../../../script-registry/src/internal';
import { Checks, type KnownOptions } from '../../../internal/src';

/** Ways in which a call fails. See `Faults.nextCall`. */
export type Fault = 'not-sent' | 'unknown' | 'refused';

/** Options of `Faults.nextCall`. */
export interface FaultOptions {
  /** Name of the script whose next call fails, such as `lock.acquire`. Default: the next call of any script. */
  readonly script?: string;
  /** Name of the ScriptRegistry whose next call fails. Default: any. */
  readonly registry?: string;
  /** For `unknown`: true if the script runs before its reply is lost. Default true. */
  readonly runs?: boolean;
  /** For `refused`: why Redis refuses the call. Default `OOM`. */
  readonly code?: 'OOM' | 'READONLY' | 'LOADING';
}

interface Armed extends FaultOptions {
  readonly fault: Fault;
}

/** Replies of Redis 7 to EVALSHA. */
const REFUSALS = {
  OOM: "OOM command not allowed when used memory > 'maxmemory'.",
  READONLY: "READONLY You can't write against a read only replica.",
  LOADING: 'LOADING Redis is loading the dataset in memory',
};
const KNOWN: KnownOptions<FaultOptions> = { script: true, registry: true, runs: true, code: true };
const SENT = 'luanest:script-registry:group.sent';
const checks = new Checks('LuanestTesting.faults.nextCall');

/** Faults that wait for their calls. */
export class ArmedFaults {
  private armed: Armed[] = [];
  private script = '';
  /** ScriptRegistry reports a group right before it sends its command. */
  private readonly sent = (event: unknown): void =>
    void ({ script: this.script } = event as ScriptRegistryEvents['groupSent']);

  get size(): number {
    return this.armed.length;
  }

  start(): void {
    subscribe(SENT, this.sent);
  }

  stop(): void {
    unsubscribe(SENT, this.sent);
  }

  add(fault: Fault, options: FaultOptions): void {
    checks.choice('fault', fault, ['not-sent', 'unknown', 'refused']);
    checks.options('', options, KNOWN);
    if (options.code !== undefined) checks.choice('code', options.code, ['OOM', 'READONLY', 'LOADING']);
    this.armed.push({ fault, ...options });
  }

  clear(): void {
    this.armed = [];
  }

  /** Makes the commands of a connection fail as the faults ask for. */
  inject(registry: string, connection: RedisConnection): void {
    for (const node of connection.nodes()) {
      const run = node.run.bind(node);
      node.run = (name, args, done, failed) => {
        const armed = name === 'EVALSHA' || name === 'EVAL' ? this.take(registry) : undefined;
        if (!armed) return run(name, args, done, failed);
        const { fault, runs = true, code = 'OOM' } = armed;
        const fail = (failure: CommandFailure): void => queueMicrotask(() => failed(failure));
        const lost = (): void =>
          fail(new CommandFailure('lost', `The connection to ${node.id} closed before the reply`));
        if (fault === 'not-sent') fail(new CommandFailure('not-sent', `${node.id} is not connected, or not ready yet`));
        else if (fault === 'refused') fail(new CommandFailure('reply', REFUSALS[code]));
        else if (runs) run(name, args, lost, failed);
        else lost();
      };
    }
  }

  private take(registry: string): Armed | undefined {
    const fits = ({ script = this.script, registry: only = registry }: Armed): boolean =>
      script === this.script && only === registry;
    const index = this.armed.findIndex(fits);
    return index < 0 ? undefined : this.armed.splice(index, 1)[0];
  }
}
