import { keyspaceText } from './keyspace-text';
import type { Actors, Protocol, ScriptCall } from './protocol';
import type { World } from './world';

/** Calls that may be sent together. */
export type Group = readonly ScriptCall[];

/**
 * Returns groups of calls that may be sent in this state: for each script, all calls of actors that are possible now and those that
 * are late. The first call of a group is its last one, too, as when it is repeated. A second group has the other order.
 */
export function groupsOf<State extends Actors>(protocol: Protocol<State>, state: State, world: World): Group[] {
  const byScript = new Map<string, ScriptCall[]>();
  for (const call of [...protocol.steps(state, world), ...state.late].flatMap((one) => one.call ?? [])) {
    const calls = byScript.get(call.script.name);
    if (calls !== undefined) calls.push(call);
    else if (world.maxCallsOf(call.script) > 1) byScript.set(call.script.name, [call]);
  }
  return [...byScript.values()].flatMap((calls) => {
    const most = world.maxCallsOf((calls[0] as ScriptCall).script);
    const orders = calls.length === 1 ? [calls] : [calls, calls.toReversed()];
    return orders.map((order) => [...order, order[0] as ScriptCall].slice(-most));
  });
}

/** Sends calls as one group, and the same calls alone, one after the other. @returns the difference; undefined if there is none */
export function groupDifference(calls: Group, world: World, back: () => void): string | undefined {
  const inGroup = { results: textOf(world.group(calls)), keys: keyspaceText(world.db) };
  back();
  const results = calls.map((call) => resultOf(() => world.call(call)));
  const inTurn = { results: textOf(results), keys: keyspaceText(world.db) };
  back();
  const what = `A group of ${calls.length} calls of ${calls[0]?.script.name}`;
  if (inGroup.results !== inTurn.results)
    return `${what} gets ${inGroup.results}, and the same calls alone get ${inTurn.results}.`;
  return inGroup.keys === inTurn.keys ? undefined : `${what} leaves other keys than the same calls alone.`;
}

function textOf(results: readonly unknown[]): string {
  return JSON.stringify(results.map((one) => (one instanceof Error ? `error ${codeOf(one)}` : (one ?? null))));
}

function resultOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/** Returns the code of an error: the rest of its text has the hash and the line of a form. */
function codeOf({ message }: Error): string {
  return /(?:^|failed: )([A-Z][A-Z0-9_]*)(?: |$)/.exec(message)?.[1] ?? message;
}
