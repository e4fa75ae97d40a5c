import type { Actors, Budgets, Move, Protocol, Step } from './protocol';
import type { World } from './world';

/** Returns all moves of a state: steps of actors, and what the environment may do to them. */
export function movesOf<State extends Actors>(protocol: Protocol<State>, state: State, world: World): Move<State>[] {
  const moves: Move<State>[] = [];
  for (const step of protocol.steps(state, world)) addStep(moves, step, state);
  state.late.forEach(({ actor, name, call }, index) => {
    moves.push({
      name: `the late call of ${actor} runs: ${name}`,
      run: (to, next) => {
        next.late.splice(index, 1);
        ignoreError(() => to.call(call));
      },
    });
  });
  moves.push(...(protocol.moves?.(state, world) ?? []));
  addFaults(moves, protocol, state, world);
  return withOwnNames(moves);
}

/** Makes a move, and looks at what it did. */
export function make<State extends Actors>(
  protocol: Protocol<State>,
  move: Move<State>,
  state: State,
  world: World,
): void {
  move.run(world, state);
  protocol.observe?.(state, world);
}

export function takeStep<State extends Actors>(step: Step<State>, state: State, world: World): void {
  let reply: unknown;
  try {
    if (step.call !== undefined) reply = world.call(step.call);
  } catch (error) {
    if (step.failed !== undefined) step.failed(state, error as Error, world);
    else state.wrong = `The call failed: ${(error as Error).message}`;
    return;
  }
  step.done(state, reply as never, world);
}

/** A step, its reply lost, and its call late. */
function addStep<State extends Actors>(moves: Move<State>[], step: Step<State>, state: State): void {
  const { actor, name, call, lost } = step;
  const label = `${actor}: ${name}`;
  moves.push({ name: label, run: (world, next) => takeStep(step, next, world) });
  if (lost === undefined || call === undefined) return;
  if (may(state, 'lost')) {
    moves.push({
      name: `${label}, and the reply is lost`,
      run: (world, next) => {
        use(next, 'lost');
        ignoreError(() => world.call(call));
        lost(next, world);
      },
    });
  }
  if (may(state, 'late')) {
    moves.push({
      name: `${label}, and the call is late`,
      run: (world, next) => {
        use(next, 'late');
        next.late.push({ actor, name, call: Object.freeze(call) });
        lost(next, world);
      },
    });
  }
}

function addFaults<State extends Actors>(
  moves: Move<State>[],
  protocol: Protocol<State>,
  state: State,
  world: World,
): void {
  if (may(state, 'time')) {
    const at = nextDeadline(protocol, state, world);
    if (at !== undefined)
      moves.push({ name: `${at - world.nowMs} ms pass`, run: spend('time', (to) => to.clock.set(at)) });
  }
  const { crash, actors = [] } = protocol;
  if (crash !== undefined && may(state, 'crash')) {
    for (const actor of actors) {
      moves.push({
        name: `${actor} crashes`,
        run: spend('crash', (_to, next) => {
          // An actor that knows nothing cannot lose it: the state stays the same.
          if (!crash(next, actor)) next.budgets.crash = (next.budgets.crash ?? 0) + 1;
        }),
      });
    }
  }
  const { evictable } = protocol;
  if (evictable !== undefined && may(state, 'evict')) {
    for (const key of world.db.keys().filter(evictable).sort()) {
      moves.push({
        name: `a stranger deletes ${key}`,
        run: spend('evict', (to, next) => {
          to.command('DEL', key);
          disturb(to, next);
        }),
      });
    }
  }
  const { replica } = state;
  if (replica !== undefined) {
    moves.push({
      name: 'the replica replaces the server',
      run: (to, next) => {
        to.thaw(replica);
        next.replica = undefined;
        disturb(to, next);
      },
    });
  } else if (may(state, 'failover')) {
    moves.push({
      name: 'the replica stops following',
      run: spend('failover', (to, next) => (next.replica = to.freeze())),
    });
  }
}

/** Returns the next instant at which something happens by itself, ms since 1970. */
export function nextDeadline<State extends Actors>(
  protocol: Protocol<State>,
  state: State,
  world: World,
): number | undefined {
  let next: number | undefined;
  const consider = (at: number): void => {
    if (at > world.nowMs && (next === undefined || at < next)) next = at;
  };
  for (const at of protocol.deadlines?.(state, world) ?? []) consider(at);
  for (const key of world.db.keys()) {
    const expiresAtMs = world.db.expiryOf(key);
    // A key still exists in the last millisecond of its time.
    if (expiresAtMs != null) consider(expiresAtMs + 1);
  }
  return next;
}

/** A deletion and a failover take time. So no two fences of a lock are made in the same microsecond, one before and one after. */
function disturb(world: World, state: Actors): void {
  world.clock.advance(1);
  state.disturbed = true;
}

function may(state: Actors, kind: keyof Budgets): boolean {
  return (state.budgets[kind] ?? 0) > 0;
}

function use(state: Actors, kind: keyof Budgets): void {
  state.budgets[kind] = (state.budgets[kind] ?? 0) - 1;
}

function spend<State extends Actors>(
  kind: keyof Budgets,
  run: (world: World, state: State) => void,
): Move<State>['run'] {
  return (world, state) => {
    use(state, kind);
    run(world, state);
  };
}

/** The caller does not get the error either. */
function ignoreError(run: () => unknown): void {
  try {
    run();
  } catch {
    // Nobody waits for this reply.
  }
}

function withOwnNames<State>(moves: Move<State>[]): Move<State>[] {
  const seen = new Map<string, number>();
  return moves.map((move) => {
    const times = (seen.get(move.name) ?? 0) + 1;
    seen.set(move.name, times);
    return times === 1 ? move : { ...move, name: `${move.name} (${times})` };
  });
}
