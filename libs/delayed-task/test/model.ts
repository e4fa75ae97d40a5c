import fc from 'fast-check';

/** The tasks of the model. */
export const IDS = ['a', 'b'];
/** Attempts that each task has. */
export const MAX_ATTEMPTS = 3;

type Verb =
  | 'schedule'
  | 'cancel'
  | 'give-up'
  | 'reschedule'
  | 'take'
  | 'acknowledge'
  | 'fail'
  | 'bury'
  | 'release'
  | 'renew'
  | 'expire'
  | 'replay'
  | 'drop'
  | 'sweep';

/** One call, or the passing of time. */
export interface Command {
  readonly verb: Verb;
  readonly id: string;
  /** Due at once, or in an hour. */
  readonly soon: boolean;
  readonly onConflict: 'keep' | 'replace';
  /** Which of the takes that held the id, from the last one: 0 is who has it, 1 a zombie. */
  readonly holder: number;
}

/** State of one task in a small model in TypeScript. */
export interface Task {
  state: 'none' | 'due' | 'leased' | 'expired' | 'dead';
  soon: boolean;
  attempt: number;
  token: string;
  /** Tokens of all takes that had it, the last one first. */
  held: string[];
}

/** All tasks. */
export class Model {
  readonly tasks = new Map(IDS.map((id) => [id, fresh()]));
  of(id: string): Task {
    return this.tasks.get(id) as Task;
  }
}

function fresh(held: string[] = []): Task {
  return { state: 'none', soon: false, attempt: 0, token: '', held };
}

/** Any command. */
export const command: fc.Arbitrary<Command> = fc.record({
  verb: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<Verb[]>('schedule', 'take', 'take') },
    {
      weight: 6,
      arbitrary: fc.constantFrom<Verb[]>('acknowledge', 'fail', 'expire', 'reschedule', 'cancel', 'release', 'renew'),
    },
    { weight: 2, arbitrary: fc.constantFrom<Verb[]>('give-up', 'bury', 'replay', 'drop', 'sweep') },
  ),
  id: fc.constantFrom(...IDS),
  soon: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  onConflict: fc.constantFrom('keep', 'replace'),
  holder: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
});

/** Plays one command on the model. @returns what the queue must answer */
export function play(model: Model, { verb, id, soon, onConflict, holder }: Command, token: string): unknown {
  const task = model.of(id);
  const exists = task.state !== 'none';
  const owns = task.state === 'leased' || task.state === 'expired' ? task.held[holder] === task.token : false;
  const live = task.state === 'leased';
  switch (verb) {
    case 'schedule':
      if (exists && onConflict !== 'replace') return 'kept';
      Object.assign(task, { state: 'due', soon, attempt: 0, token: '' });
      return exists ? 'replaced' : 'scheduled';
    case 'cancel':
    case 'give-up':
      if (task.state === 'dead') return 'dead';
      if (!exists) return 'unknown';
      if (live && verb === 'cancel') return 'running';
      model.tasks.set(id, fresh(task.held));
      return 'cancelled';
    case 'reschedule':
      if (task.state !== 'due') return exists ? (task.state === 'dead' ? 'dead' : 'running') : 'unknown';
      task.soon = soon;
      return 'rescheduled';
    case 'take':
      return [...model.tasks].flatMap(([at, one]) => {
        if (!(one.state === 'due' && one.soon) && one.state !== 'expired') return [];
        if (one.state === 'expired' && one.attempt >= MAX_ATTEMPTS) {
          one.state = 'dead';
          return [];
        }
        Object.assign(one, { state: 'leased', attempt: one.attempt + 1, token, held: [token, ...one.held] });
        return [`${at} ${one.attempt}`];
      });
    case 'acknowledge':
      if (!owns) return [0, 0];
      model.tasks.set(id, fresh(task.held));
      return [1];
    case 'fail':
    case 'bury':
      if (!owns) return settledBefore(task, holder) ? undefined : 'lost';
      if (verb === 'fail' && task.attempt < MAX_ATTEMPTS) Object.assign(task, { state: 'due', soon });
      else task.state = 'dead';
      return task.state === 'dead' ? 'dead' : 'retried';
    case 'release':
      if (!owns) return undefined;
      Object.assign(task, { state: 'due', soon: true, attempt: task.attempt - 1 });
      return [1];
    case 'renew':
      if (!owns) return [0, 0];
      task.state = 'leased';
      return [1];
    case 'expire':
      if (live) task.state = 'expired';
      return undefined;
    case 'replay':
    case 'drop':
      if (task.state !== 'dead') return 'unknown';
      if (verb === 'drop') model.tasks.set(id, fresh(task.held));
      else Object.assign(task, { state: 'due', soon: true, attempt: 0, token: '' });
      return verb === 'drop' ? 'dropped' : 'replayed';
    case 'sweep':
      return undefined;
  }
}

/** A holder that settled before gets the same reply again, and nothing may change. */
function settledBefore(task: Task, holder: number): boolean {
  return task.token !== '' && task.held[holder] === task.token;
}
