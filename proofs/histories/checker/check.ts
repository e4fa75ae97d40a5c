import { eventsOf, mayBeLeftOut, type Event, type Model, type Operation } from './history';

export interface CheckOptions {
  /** Maximum number of configurations that are looked at. Default 1,000,000. */
  readonly configurations?: number;
  /** `first`: looks first at what is most likely. `last`: the other way round, which decides some histories sooner. Default `first`. */
  readonly likely?: 'first' | 'last';
}

/** Result of a check. `configurations`: how many were looked at. */
export type Verdict<Op extends Operation = Operation> =
  | { readonly result: 'linearizable'; readonly configurations: number }
  /** `prefix`: the events up to the first return that no order of the operations explains. */
  | { readonly result: 'not linearizable'; readonly configurations: number; readonly prefix: readonly Event<Op>[] }
  /** The search ended at the bound. */
  | { readonly result: 'unknown'; readonly configurations: number };

/** A set of operations that are open: called, and not yet returned. `at` is the next event. */
interface Configuration<State, Op> {
  readonly at: number;
  readonly state: State;
  readonly key: string;
  /** Open operations that have not taken effect. */
  readonly open: readonly Op[];
  /** Open operations that have taken effect. */
  readonly done: readonly Op[];
}

/**
 * Checks whether a history is linearizable: whether each operation can be given a moment between its call and its return, so that
 * the outputs are those of the model in the order of these moments. An operation without a return may also have no moment.
 *
 * The algorithm is that of Wing and Gong (1993): a search in depth for such an order, with two changes of Lowe ("Testing for
 * linearizability", 2017). A configuration (the operations with a moment, and the state) is looked at only once. And an operation
 * gets its moment just in time: when its own return, or that of another one, needs it. Configurations share their parts, so going
 * back to an earlier one is to forget the present one.
 */
export function check<State, Op extends Operation>(
  model: Model<State, Op>,
  operations: readonly Op[],
  { configurations: most = 1_000_000, likely = 'first' }: CheckOptions = {},
): Verdict<Op> {
  const events = eventsOf(operations);
  const seen = new Set<string>();
  const start = { at: 0, state: model.start, key: model.keyOf(model.start), open: [], done: [] };
  const stack: Configuration<State, Op>[] = [start];
  let furthest = 0;
  while (stack.length > 0) {
    const reached = advance(model, events, stack.pop() as Configuration<State, Op>);
    if (reached.at === events.length) return { result: 'linearizable', configurations: seen.size };
    furthest = Math.max(furthest, reached.at);
    const seenAs = textOf(model, reached);
    if (seen.has(seenAs)) continue;
    if (seen.size === most) return { result: 'unknown', configurations: seen.size };
    seen.add(seenAs);
    branch(model, events, reached, stack, likely);
  }
  return { result: 'not linearizable', configurations: seen.size, prefix: events.slice(0, furthest + 1) };
}

/** Goes on to the next return of an operation that has not taken effect. */
function advance<State, Op extends Operation>(
  model: Model<State, Op>,
  events: readonly Event<Op>[],
  from: Configuration<State, Op>,
): Configuration<State, Op> {
  const { state, key } = from;
  let { at } = from;
  let [open, done] = withReads(model, from, from.open);
  for (; at < events.length; at++) {
    const { kind, operation } = events[at] as Event<Op>;
    if (kind === 'call') {
      if (isLegalRead(model, state, key, operation)) done = [...done, operation];
      else open = [...open, operation];
    } else if (done.includes(operation)) done = done.filter((one) => one !== operation);
    else if (hasNoEffect(model, state, key, operation)) open = open.filter((one) => one !== operation);
    else break;
  }
  return { at, state, key, open, done };
}

/** Gives a moment to all reads that are legal now. That is never worse than later, because they change nothing. */
function withReads<State, Op extends Operation>(
  model: Model<State, Op>,
  { state, key, done }: Configuration<State, Op>,
  open: readonly Op[],
): [open: readonly Op[], done: readonly Op[]] {
  const legal = open.filter((operation) => isLegalRead(model, state, key, operation));
  return legal.length === 0 ? [open, done] : [open.filter((one) => !legal.includes(one)), [...done, ...legal]];
}

/** Returns true for something that happens, but may have no effect in this state. */
function hasNoEffect<State, Op extends Operation>(
  model: Model<State, Op>,
  state: State,
  key: string,
  operation: Op,
): boolean {
  if (model.happens?.(operation) !== true) return false;
  return model.step(state, operation).some((next) => model.keyOf(next) === key);
}

function isLegalRead<State, Op extends Operation>(
  model: Model<State, Op>,
  state: State,
  key: string,
  operation: Op,
): boolean {
  if (!model.reads(operation)) return false;
  return model.step(state, operation).some((next) => model.keyOf(next) === key);
}

/** Adds the configurations after one more operation, so that the most likely one is looked at next, or last. */
function branch<State, Op extends Operation>(
  model: Model<State, Op>,
  events: readonly Event<Op>[],
  from: Configuration<State, Op>,
  stack: Configuration<State, Op>[],
  likely: 'first' | 'last',
): void {
  const { at, state, open, done } = from;
  const { operation: returning } = events[at] as Event<Op>;
  const next: Configuration<State, Op>[] = [];
  const add = (operation: Op): void => {
    const left = open.filter((one) => one !== operation);
    for (const after of model.step(state, operation)) {
      const key = model.keyOf(after);
      // Without an effect, an operation that may be left out is left out, and what happens does so later.
      if (key === from.key && (mayBeLeftOut(operation) || model.happens?.(operation) === true)) continue;
      next.push({ at, state: after, key, open: left, done: [...done, operation] });
    }
  };
  // Most likely, the operation that returns has just taken effect, and a pending one never has.
  if (mayBeLeftOut(returning)) next.push({ ...from, at: at + 1, open: open.filter((one) => one !== returning) });
  add(returning);
  const others = open.filter((one) => one !== returning);
  for (const operation of others) if (operation.return !== Infinity) add(operation);
  const classes = new Set<string>();
  for (const operation of others) {
    if (operation.return !== Infinity) continue;
    const same = model.classOf?.(operation);
    if (same !== undefined && classes.has(same)) continue;
    if (same !== undefined) classes.add(same);
    add(operation);
  }
  stack.push(...(likely === 'first' ? next.reverse() : next));
}

/** Returns a text of a configuration. `open` follows from `done`, but for operations that are interchangeable. */
function textOf<State, Op extends Operation>(
  model: Model<State, Op>,
  { at, key, done }: Configuration<State, Op>,
): string {
  const names = done.map((operation) => {
    const same = operation.return === Infinity ? model.classOf?.(operation) : undefined;
    return same === undefined ? operation.id : `=${same}`;
  });
  return `${at} ${names.sort().join(' ')} ${key}`;
}
