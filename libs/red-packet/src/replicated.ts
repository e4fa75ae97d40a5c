import {
  NotReplicatedError,
  type ScriptDefinition,
  type ScriptInput,
  type ScriptRegistry,
} from 'luanest/script-registry';

/** Options of RedPacketModule that say how long to wait for how many replicas. */
export interface ReplicaOptions {
  readonly replicas: number;
  readonly replicasTimeoutMs: number;
}

/** Runs scripts, and waits until the option `replicas` is met. Without replicas to wait for, the scripts run as others do. */
export class Replicated {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly settings: ReplicaOptions,
  ) {}

  /** Number of replicas that must have what a script wrote. */
  get replicas(): number {
    return this.settings.replicas;
  }

  /**
   * Runs a script that writes something, also when it is run again: WAIT covers what its own connection has written.
   *
   * @returns the result; `confirmed` is true if enough replicas have all that was written before the script, and by it
   * @throws the errors of ScriptRegistry.runAndWait()
   */
  async run<K extends readonly string[], A, R>(
    script: ScriptDefinition<K, A, R>,
    input: ScriptInput<K, A>,
  ): Promise<{ readonly result: R; readonly confirmed: boolean; readonly copies: number }> {
    const { replicas, replicasTimeoutMs: timeoutMs } = this.settings;
    if (replicas === 0) return { result: await this.registry.run(script, input), confirmed: true, copies: 0 };
    const waited = await this.registry.runAndWait(script, input, { replicas, timeoutMs });
    return { result: waited.result, confirmed: waited.replicas >= replicas, copies: waited.replicas };
  }

  /**
   * Does what `run` does, for a step on which another one depends, so that a failover must not undo it.
   *
   * @param step what was done, for the error, such as `Packets left a bucket`
   * @param isDone returns false for a result of a call that has done nothing, which needs no replica
   * @throws NotReplicatedError if too few replicas have confirmed it. It was done on the master, and may be repeated
   */
  async step<K extends readonly string[], A, R>(
    step: string,
    script: ScriptDefinition<K, A, R>,
    input: ScriptInput<K, A>,
    isDone: (result: R) => boolean,
  ): Promise<R> {
    const { result, confirmed, copies } = await this.run(script, input);
    if (confirmed || !isDone(result)) return result;
    const { replicas, replicasTimeoutMs } = this.settings;
    throw new NotReplicatedError(
      `${step}, but ${copies} of ${replicas} replicas have confirmed it within ${replicasTimeoutMs} ms, so a failover may ` +
        'undo it. Repeat the call: that is safe.',
      'confirm',
      copies,
      replicas,
    );
  }
}
