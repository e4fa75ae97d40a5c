/** One operation of a history of one key, as the checker reads it. Times are of one clock, and in any unit. */
export interface Operation<Input = unknown, Output = unknown> {
  /** Unique in the history. */
  readonly id: string;
  readonly call: number;
  /** Infinity for a pending operation: it takes effect at any time after `call`, or never. */
  readonly return: number;
  readonly input: Input;
  /** Undefined if nobody knows what the operation returned. */
  readonly output?: Output | undefined;
  /**
   * True: the operation may also have had no effect at all, although it has a return, such as the first sending of a call that was
   * sent twice. Default false.
   */
  readonly optional?: boolean;
}

/** Sequential behaviour of one key. States are immutable. */
export interface Model<State, Op extends Operation = Operation> {
  readonly start: State;
  /**
   * Returns all states in which the operation may leave the key, if it returns its output in `state`. Empty: it cannot return that.
   * For an operation without an output: the states after its effect; empty if it has none in `state`.
   */
  step(state: State, operation: Op): readonly State[];
  /** Returns a text that is the same for equal states, and differs for others. */
  keyOf(state: State): string;
  /**
   * True for an operation that, with its output, never changes a state, but may say more about it. The checker places it as soon as
   * it may leave the state as it is.
   */
  reads(operation: Op): boolean;
  /**
   * True for what happens without a call, such as the end of a lease. It must be legal in every state, and cannot have an effect
   * after its return, even if it had none before. So the checker places it only where it changes the state. Default: no operation
   * is.
   */
  happens?(operation: Op): boolean;
  /**
   * Returns the same text for pending operations that are interchangeable, so that the checker tries only one of them. Default: no
   * operation is.
   */
  classOf?(operation: Op): string | undefined;
}

/** Returns whether an operation need not take effect. */
export function mayBeLeftOut({ return: end, optional }: Operation): boolean {
  return end === Infinity || optional === true;
}

/** A call or a return of an operation. */
export interface Event<Op extends Operation = Operation> {
  readonly at: number;
  readonly kind: 'call' | 'return';
  readonly operation: Op;
}

/** Returns the calls and returns in the order of time. Of events at the same time, calls come first: then they overlap. */
export function eventsOf<Op extends Operation>(operations: readonly Op[]): Event<Op>[] {
  const events = operations.flatMap((operation): Event<Op>[] => {
    const call: Event<Op> = { at: operation.call, kind: 'call', operation };
    return operation.return === Infinity ? [call] : [call, { at: operation.return, kind: 'return', operation }];
  });
  return events.sort((a, b) => a.at - b.at || Number(a.kind === 'return') - Number(b.kind === 'return'));
}

/** Splits a history by key. A history is linearizable if the history of each of its keys is (Herlihy and Wing, locality). */
export function byKey<T extends { readonly key: string }>(items: Iterable<T>): Map<string, T[]> {
  const histories = new Map<string, T[]>();
  for (const item of items) {
    const history = histories.get(item.key);
    if (history === undefined) histories.set(item.key, [item]);
    else history.push(item);
  }
  return histories;
}
