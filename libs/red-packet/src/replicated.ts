import {
  NotReplicatedError,
  type ScriptDefinition,
  type ScriptInput,
  type ScriptRegistry,
} from 'luanest/script-registry';

/** Options of RedPacketModule about replicas: for how many to wait, and how long. */
export interface ReplicaOptions {
  readonly replicas: number;
  readonly replicasTimeoutMs: number;
}

/** Runs scripts, and then waits (WAIT) until `replicas` replicas have their writes; does not wait if `replicas` is 0. */
export class Replicated {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly settings: ReplicaOptions,
  ) {}

  /** Number of replicas that must confirm the writes of a script. */
  get replicas(): number {
    return this.settings.replicas;
  }

  /**
   * Runs a script, and waits for replicas. The script must write something each time, even when it is repeated, because WAIT covers only
   * the writes of its own connection.
   *
   * @returns the result; `confirmed` is true if enough replicas have the writes of the script, and all earlier writes of this master;
   *   `copies` is the number of replicas that have them, 0 if `replicas` is 0
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
   * Runs a step that a failover must not undo, because a later step depends on it. Throws if too few replicas confirm it.
   *
   * @param step description of the step for the error, such as `Packets left a bucket`
   * @param isDone returns false for the result of a call that did nothing, which needs no replicas
   * @throws NotReplicatedError if too few replicas have confirmed the step. The master has done the step, and you may repeat it
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
      `RedPacketModule: ${step}, but only ${copies} of ${replicas} replicas have confirmed this within ${replicasTimeoutMs} ms ` +
        '(replicasTimeoutMs), so a failover may undo it. Repeat the call: that is safe.',
      'confirm',
      copies,
      replicas,
    );
  }
}
