import type { Model, Operation } from '../checker/history';

export type TaskInput =
  | { readonly op: 'schedule'; readonly onConflict: 'keep' | 'replace'; readonly delayMs: number }
  | { readonly op: 'reschedule'; readonly delayMs: number }
  | { readonly op: 'cancel'; readonly evenRunning: boolean }
  | { readonly op: 'get' | 'replay' | 'drop' }
  /** A handler began. */
  | TakeInput
  /** A handler ended: it returned, threw, or gave up the task. `of` is the take. */
  | { readonly op: 'succeed' | 'fail' | 'give up'; readonly of: string }
  /** Nobody saw it: a worker took the task and died, or a worker found that the last attempt had lost its lease. */
  | { readonly op: 'unseen take' | 'bury' };

export interface TakeInput {
  readonly op: 'take';
  /** Id of the operation that scheduled the task. */
  readonly plan: string;
  readonly attempt: number;
  /** When the attempt was due, by Redis' clock; and the same in the unit of the history's times, early enough. */
  readonly runAtMs: number;
  readonly notBefore: number;
}

export interface TaskOutput {
  readonly status?: string;
  readonly runAtMs?: number;
  readonly attemptsMade?: number;
}

export type TaskOperation = Operation<TaskInput, TaskOutput>;

export interface TaskState {
  readonly phase: 'none' | 'waiting' | 'running' | 'dead';
  /** Id of the operation that scheduled the task. */
  readonly plan: string;
  readonly attempts: number;
  /** When the attempt is due, by Redis' clock; 0 if it is not known. */
  readonly runAtMs: number;
  /** Id of the take, and a time before which it did not happen. */
  readonly take: string;
  readonly takenAfter: number;
}

export interface TaskRules {
  /** Maximum number of attempts. */
  readonly attempts: number;
  /** Length of a lease, less what the clocks may differ by; in the unit of the history's times. */
  readonly lease: number;
}

const NONE: TaskState = { phase: 'none', plan: '', attempts: 0, runAtMs: 0, take: '', takenAfter: 0 };

/** A task with an id: it waits, runs, and is done or a dead letter. Attempts are at least once: a lease may end. */
export class TaskModel implements Model<TaskState, TaskOperation> {
  readonly start = NONE;

  constructor(private readonly rules: TaskRules) {}

  keyOf({ phase, plan, attempts, runAtMs, take }: TaskState): string {
    return `${phase} ${plan} ${attempts} ${runAtMs} ${take}`;
  }

  reads({ input, output }: TaskOperation): boolean {
    if (output === undefined) return false;
    return input.op === 'get' || ['kept', 'running', 'dead', 'unknown'].includes(output.status ?? '');
  }

  classOf({ input }: TaskOperation): string | undefined {
    if (input.op === 'cancel') return `cancel ${input.evenRunning}`;
    return input.op === 'schedule' || input.op === 'take' || 'of' in input ? undefined : input.op;
  }

  step(state: TaskState, operation: TaskOperation): readonly TaskState[] {
    const { id, input, output } = operation;
    switch (input.op) {
      case 'schedule':
        return schedule(state, id, input.onConflict, output);
      case 'cancel':
        return this.cancel(state, operation, input.evenRunning);
      case 'reschedule':
        return reschedule(state, output);
      case 'get':
        return output !== undefined && shows(state, output) ? [state] : [];
      case 'replay':
        return redo(state, output, 'replayed', { ...state, phase: 'waiting', attempts: 0, runAtMs: 0, take: '' });
      case 'drop':
        return redo(state, output, 'dropped', NONE);
      case 'take':
        return state.plan === input.plan &&
          state.attempts + 1 === input.attempt &&
          (state.runAtMs === 0 || state.runAtMs === input.runAtMs) &&
          operation.return >= input.notBefore
          ? this.take({ ...state, runAtMs: input.runAtMs }, operation)
          : [];
      case 'unseen take':
        return this.take(state, operation);
      case 'bury':
        return state.phase === 'running' && state.attempts >= this.rules.attempts ? [{ ...state, phase: 'dead' }] : [];
      case 'succeed':
      case 'fail':
      case 'give up':
        return this.settle(state, input.op, input.of, output);
    }
  }

  private take(state: TaskState, operation: TaskOperation): readonly TaskState[] {
    const { id, call } = operation;
    const isFree = state.phase === 'waiting' || (state.phase === 'running' && this.leaseMayBeOver(state, operation));
    if (!isFree || state.attempts >= this.rules.attempts) return [];
    return [{ ...state, phase: 'running', attempts: state.attempts + 1, take: id, takenAfter: call }];
  }

  private leaseMayBeOver({ takenAfter }: TaskState, operation: TaskOperation): boolean {
    return operation.return >= takenAfter + this.rules.lease;
  }

  private cancel(state: TaskState, operation: TaskOperation, evenRunning: boolean): readonly TaskState[] {
    const { output } = operation;
    const removes =
      state.phase === 'waiting' ||
      (state.phase === 'running' && (evenRunning || this.leaseMayBeOver(state, operation)));
    if (output === undefined || output.status === 'cancelled') return removes ? [NONE] : [];
    const refusal = { none: 'unknown', waiting: '', running: evenRunning ? '' : 'running', dead: 'dead' }[state.phase];
    return output.status === refusal ? [state] : [];
  }

  private settle(
    state: TaskState,
    how: 'succeed' | 'fail' | 'give up',
    of: string,
    output: TaskOutput | undefined,
  ): readonly TaskState[] {
    const isLast = how === 'give up' || state.attempts >= this.rules.attempts;
    const status = how === 'succeed' ? 'done' : isLast ? 'dead' : 'retried';
    // The lease of the last attempt ended first. The failure finds the task dead, with its own token.
    if (state.phase === 'dead' && state.take === of && output?.status === 'dead') return [state];
    // A call that is sent again after a lost reply finds its own effect, and returns `lost`.
    if (state.phase !== 'running' || state.take !== of) return output?.status === 'lost' ? [state] : [];
    if (output !== undefined && output.status !== 'lost' && output.status !== status) return [];
    if (status === 'done') return [NONE];
    return [{ ...state, phase: isLast ? 'dead' : 'waiting', runAtMs: 0, take: '' }];
  }
}

function schedule(
  state: TaskState,
  plan: string,
  onConflict: 'keep' | 'replace',
  output: TaskOutput | undefined,
): readonly TaskState[] {
  const exists = state.phase !== 'none';
  const keeps = exists && onConflict === 'keep';
  const status = !exists ? 'scheduled' : keeps ? 'kept' : 'replaced';
  if (output !== undefined && output.status !== status) return [];
  if (!keeps) return [{ ...NONE, phase: 'waiting', plan, runAtMs: output?.runAtMs ?? 0 }];
  if (output === undefined) return [];
  if (state.phase !== 'waiting') return output.runAtMs === 0 ? [state] : [];
  return state.runAtMs === 0 || state.runAtMs === output.runAtMs ? [state] : [];
}

function reschedule(state: TaskState, output: TaskOutput | undefined): readonly TaskState[] {
  const status = { none: 'unknown', waiting: 'rescheduled', running: 'running', dead: 'dead' }[state.phase];
  if (output !== undefined && output.status !== status) return [];
  return state.phase === 'waiting' ? [{ ...state, runAtMs: output?.runAtMs ?? 0 }] : [state];
}

/** Replays or drops a dead letter. */
function redo(
  state: TaskState,
  output: TaskOutput | undefined,
  status: 'replayed' | 'dropped',
  next: TaskState,
): readonly TaskState[] {
  const dead = state.phase === 'dead';
  if (output !== undefined && output.status !== (dead ? status : 'unknown')) return [];
  return [dead ? next : state];
}

/** Returns whether `get` may have shown the state so. */
function shows({ phase, attempts, runAtMs }: TaskState, output: TaskOutput): boolean {
  if (output.status !== phase) return false;
  if (phase === 'none') return true;
  const isDue = phase !== 'waiting' || runAtMs === 0 || runAtMs === output.runAtMs;
  return output.attemptsMade === attempts && isDue;
}
