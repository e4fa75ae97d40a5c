import {
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type Receiver,
  type RedisCommand,
  type RedisConnection,
  type RedisNode,
} from '../connection/port';
import type { ScriptLoader } from '../script-loader';
import { events } from '../script-registry.events';
import type { Call, Wait } from './call';
import type { ScriptCodec } from './script-codec';
import { asFailure, asksForSingles, callError, settle } from './settle';

const MAX_TRIES = 3;

/** Objects and functions that Recovery needs to send calls again. */
export interface RecoveryHost {
  readonly registry: string;
  readonly connection: RedisConnection;
  readonly loader: ScriptLoader;
  readonly codec: ScriptCodec;
  /** Rejects a call. Does nothing if the call has a result or an error already. */
  readonly fail: (call: Call, error: Error) => void;
}

/** Where to send calls again: to one node, or to a node that the client chooses. */
interface Route {
  /** Id of the node; undefined if the client chooses the node. */
  readonly id: string | undefined;
  send(name: string, args: CommandArg[], receiver: Receiver): void;
  /** Loads the scripts. @returns true if loading has succeeded */
  load(): Promise<boolean>;
}

/**
 * Handles the calls of a failed command. Sends them again if the node lacked the script, or if the calls may succeed one by one, such as
 * after a redirection of a Cluster. Otherwise rejects them. Also sends the calls of `runAndWait`, followed by WAIT.
 */
export class Recovery {
  constructor(private readonly host: RecoveryHost) {}

  /**
   * Handles the calls of a failed command: sends them again or rejects them. Resolves when each call has a result or an error. Never
   * rejects.
   */
  recover(calls: readonly Call[], node: RedisNode, failure: CommandFailure): Promise<void> {
    return this.handle(calls, this.routeTo(node), failure, MAX_TRIES);
  }

  /**
   * Sends calls, and then WAIT on the same connection, so that WAIT covers their writes. Resolves when each call has a result or an error.
   * Never rejects.
   */
  async sendAndWait(node: RedisNode, calls: readonly Call[], { replicas, timeoutMs }: Wait): Promise<void> {
    let connection: DedicatedConnection;
    try {
      connection = await this.host.connection.dedicated(node);
    } catch (error) {
      return this.failAll(calls, asFailure(error));
    }
    const live = calls.filter(({ settled }) => !settled);
    if (live.length === 0) return;
    const wait: RedisCommand = ['WAIT', [String(replicas), String(timeoutMs)]];
    const send: Route['send'] = (name, args, receiver) => {
      void connection.sendAll([[name, args], wait]).then(([raw, waited]) => {
        if (raw instanceof CommandFailure) return receiver.failed(raw);
        // A failed WAIT only means that no replica has confirmed the writes. The reply of the script is still valid.
        for (const call of live) call.replicas = waited instanceof CommandFailure ? 0 : Number(waited);
        receiver.replied(raw);
      });
    };
    return this.attempt(live, { ...this.routeTo(node), send }, MAX_TRIES);
  }

  private routeTo(node: RedisNode): Route {
    const { loader } = this.host;
    return {
      id: node.id,
      send: (name, args, receiver) => node.run(name, args, receiver),
      load: () => loader.load(node).then(() => loader.problem(node) === undefined),
    };
  }

  /**
   * Sends calls as one command.
   *
   * @param tries how often the command may still be sent. The last time, it is an EVAL, which also works if the node lacks the script
   */
  private attempt(calls: readonly Call[], route: Route, tries: number): Promise<void> {
    const { codec, fail } = this.host;
    for (const call of calls) call.inFlight = true;
    return new Promise<void>((resolve) => {
      const isLast = tries === 1;
      route.send(isLast ? 'EVAL' : 'EVALSHA', codec.command(calls, isLast), {
        resent: () => {
          for (const call of calls) call.resent();
        },
        replied: (raw) => {
          settle(codec.name, calls, raw, fail);
          resolve();
        },
        failed: (failure) => resolve(this.handle(calls, route, failure, tries)),
      });
    }).catch((error: unknown) => this.failAll(calls, asFailure(error)));
  }

  private async handle(calls: readonly Call[], route: Route, failure: CommandFailure, tries: number): Promise<void> {
    const { registry, connection, codec } = this.host;
    for (const call of calls) {
      call.inFlight = false;
      call.lost ||= failure.mayHaveRun;
    }
    try {
      if (route.id !== undefined && asksForSingles(failure, calls.length, connection.clustered)) {
        await this.sendSingly(calls, failure);
      } else if (failure.noScript && tries > 1) {
        const healed = await route.load();
        if (healed) {
          const node = route.id ?? 'routed by the client';
          events.scriptsHealed.publish(() => ({ registry, node, script: codec.name }));
        }
        // A call that was rejected at its deadline in the meantime must not run.
        const live = calls.filter(({ settled }) => !settled);
        if (live.length > 0) await this.attempt(live, route, tries - 1);
      } else this.failAll(calls, failure);
    } catch (error) {
      this.failAll(calls, asFailure(error));
    }
  }

  /**
   * Sends calls one by one, each to the node that the client chooses. So the client can follow the redirections of a Cluster.
   * See DECISIONS.md: cluster-group-goes-to-the-master
   */
  private async sendSingly(calls: readonly Call[], failure: CommandFailure): Promise<void> {
    const { connection, loader } = this.host;
    if (failure.code === 'MOVED') connection.refresh();
    const route: Route = {
      id: undefined,
      send: (name, args, receiver) =>
        void connection.sendRouted(name, args, receiver.resent).then(
          (raw) => receiver.replied(raw),
          (again: CommandFailure) => receiver.failed(again),
        ),
      load: async () => {
        const nodes = connection.nodes().filter(({ ready }) => ready);
        await Promise.all(nodes.map((node) => loader.load(node)));
        return nodes.every((node) => loader.problem(node) === undefined);
      },
    };
    const live = calls.filter(({ settled }) => !settled);
    await Promise.all(live.map((call) => this.attempt([call], route, MAX_TRIES)));
  }

  private failAll(calls: readonly Call[], failure: CommandFailure): void {
    const { codec, connection, fail } = this.host;
    for (const call of calls) fail(call, callError(codec.name, failure, call.lost, connection.clustered));
  }
}
