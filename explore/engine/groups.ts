import { keyspaceText } from './digest';
import type { Actors, Protocol, ScriptCall } from './protocol';
import type { World } from './world';

/** Calls that may be sent together. */
export interface Group {
  /** The calls as the group sends them. */
  readonly together: readonly ScriptCall[];
  /** The same calls, as each is sent alone. */
  readonly alone: readonly ScriptCall[];
}

/**
 * Returns groups of calls that may be sent in this state: for each script, all calls of actors that are possible now and those that
 * are late. The first call of a group is its last one, too, as when it is repeated. A second group has the other order.
 */
export function groupsOf<State extends Actors>(protocol: Protocol<State>, state: State, world: World): Group[] {
  const { inGroups } = protocol;
  const grouped = ({ script, input }: ScriptCall): ScriptCall => ({
    script: inGroups?.get(script.name) ?? script,
    input,
  });
  const byScript = new Map<string, ScriptCall[]>();
  for (const call of [...protocol.steps(state, world), ...state.late].flatMap((one) => one.call ?? [])) {
    const calls = byScript.get(call.script.name);
    if (calls !== undefined) calls.push(call);
    else if (world.maxCallsOf(grouped(call).script) > 1) byScript.set(call.script.name, [call]);
  }
  return [...byScript.values()].flatMap((calls) => {
    const most = world.maxCallsOf(grouped(calls[0] as ScriptCall).script);
    const orders = calls.length === 1 ? [calls] : [calls, calls.toReversed()];
    return orders.map((order) => {
      const alone = [...order, order[0] as ScriptCall].slice(-most);
      return { together: alone.map(grouped), alone };
    });
  });
}

/** Sends calls as one group, and the same calls alone, one after the other. @returns the difference; undefined if there is none */
export function groupDifference({ together, alone }: Group, world: World, back: () => void): string | undefined {
  const inGroup = { results: textOf(world.group(together)), keys: keyspaceText(world.db) };
  back();
  const results = alone.map((call) => {
    const result = resultOf(() => world.call(call));
    // A script that reads the time itself never reads the same time twice: calls alone are later, and a group counts on.
    if (call.script.source.includes("redis.call('TIME')")) world.clock.advance(0.001);
    return result;
  });
  const inTurn = { results: textOf(results), keys: keyspaceText(world.db) };
  back();
  const what = `A group of ${alone.length} calls of ${alone[0]?.script.name}`;
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
