import type { ScriptDefinition } from 'luanest/script-registry';
import type { Frozen } from './frozen';
import type { ScriptCall } from './script-call';
import type { World } from './world';

export type { ScriptCall };

/** How often the environment may still do each of its moves. A move without a number cannot happen. */
export interface Budgets {
  /** Time passes to the next deadline of an actor, or until the next key has expired. */
  time?: number;
  /** A script ran, and its caller does not know: the reply was lost. */
  lost?: number;
  /** A call stays on its way while its caller goes on, and runs at any time after that. */
  late?: number;
  /** An actor loses its memory. */
  crash?: number;
  /** A stranger deletes a key, or memory was full and the server evicted it. */
  evict?: number;
  /** A replica stops following, and later replaces the server: all writes in between are lost. */
  failover?: number;
}

/** State of the actors. It is plain data: objects, arrays, texts, numbers, booleans. Moves change it in place. */
export interface Actors {
  budgets: Budgets;
  /** Calls that are on their way, although their callers gave up waiting. */
  late: { actor: string; name: string; call: ScriptCall }[];
  /** Keys of a replica that no longer follows. */
  replica?: Frozen | undefined;
  /** True after an eviction or a failover, for what is only promised without them. */
  disturbed: boolean;
  /** Problem that a move found, such as a reply that must not come. The state is then a violation. */
  wrong?: string | undefined;
}

/** A step of an actor: at most one call of a script, and what the actor does with the reply. */
export interface Step<State> {
  readonly actor: string;
  readonly name: string;
  /** Undefined: the step is in the process alone. */
  readonly call?: ScriptCall | undefined;
  readonly done: (state: State, reply: never, world: World) => void;
  /** Handles an error of the script. Undefined: an error is a violation. */
  readonly failed?: (state: State, error: Error, world: World) => void;
  /** Called instead of `done` if the actor gets no reply. Undefined: the reply of this call is never lost. */
  readonly lost?: (state: State, world: World) => void;
}

/** A move from one state to the next one. */
export interface Move<State> {
  /** Different from the names of the other moves of the state. */
  readonly name: string;
  readonly run: (world: World, state: State) => void;
}

/** A sentence that is true in every state, and the code that checks it. */
export interface Invariant<State> {
  readonly words: string;
  /** Returns what is wrong; undefined if the sentence is true. */
  readonly broken: (state: State, world: World) => string | undefined;
}

export interface Protocol<State extends Actors = Actors> {
  readonly name: string;
  readonly scenario: string;
  /** Scripts that are run instead of those of the same name: old defects that the explorer must find. */
  readonly replaced?: readonly ScriptDefinition[];
  /** Who acts, which faults happen, and where the model begins: what is the library's own code, and what is not. */
  readonly about: string;
  /** Most moves from the begin. */
  readonly depth: number;
  readonly begin: (world: World) => State;
  /** Steps that actors can do now. */
  readonly steps: (state: State, world: World) => Step<State>[];
  /** Moves that nobody has to make: of an operator, or of an environment of this protocol alone. */
  readonly moves?: (state: State, world: World) => Move<State>[];
  /** Instants at which an actor would act by its own clock, ms since 1970. */
  readonly deadlines?: (state: State, world: World) => number[];
  /** Forgets what an actor knows. Undefined: actors do not crash. Returns false if it has nothing to lose. */
  readonly crash?: (state: State, actor: string) => boolean;
  readonly actors?: readonly string[];
  /** Returns true for keys that a stranger may delete. */
  readonly evictable?: (key: string) => boolean;
  /** Compares the new state with what was seen before, after each move, and remembers what invariants need. */
  readonly observe?: (state: State, world: World) => void;
  readonly invariants: readonly Invariant<State>[];
  /** Left alone, with time and without faults: returns what has not settled; undefined if all has. */
  readonly unsettled?: (state: State, world: World) => string | undefined;
}
