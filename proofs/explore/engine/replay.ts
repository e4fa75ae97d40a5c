import { digestOf } from './digest';
import { make, movesOf } from './environment';
import { copyOf } from './frozen';
import type { Actors, Protocol } from './protocol';
import { World, type Deed } from './world';

/** A way from the begin to a state, with everything that was done to the server. */
export interface Replay<State> {
  readonly world: World;
  readonly state: State;
  readonly moves: readonly string[];
  readonly deeds: readonly Deed[];
  readonly digest: string;
}

/** Goes a way again, from the begin. @param path index or name of each move @throws Error if a move is not possible */
export function replay<State extends Actors>(
  protocol: Protocol<State>,
  path: readonly (number | string)[],
): Replay<State> {
  const world = new World(protocol.replaced);
  const deeds: Deed[] = [];
  world.deeds = deeds;
  let state = protocol.begin(world);
  const names: string[] = [];
  for (const choice of path) {
    const moves = movesOf(protocol, state, world);
    const move = typeof choice === 'number' ? moves[choice] : moves.find(({ name }) => name === choice);
    if (move === undefined) {
      throw new Error(`There is no move "${choice}". Possible moves: ${moves.map(({ name }) => name).join('; ')}.`);
    }
    names.push(move.name);
    world.move = names.length;
    state = copyOf(state);
    make(protocol, move, state, world);
  }
  return { world, state, moves: names, deeds, digest: digestOf(world.db, state) };
}
