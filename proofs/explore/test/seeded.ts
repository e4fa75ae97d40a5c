import { defineScript, type ScriptDefinition } from 'luanest/script-registry';
import type { Protocol } from '../engine/protocol';
import { Search } from '../engine/search';
import { replay } from '../engine/replay';

/** Returns a script with other Lua. @throws Error if a text to replace is not in the script, so that no seed is lost unseen */
export function variant(
  script: ScriptDefinition,
  ...changes: readonly (readonly [from: string, to: string])[]
): ScriptDefinition {
  let { source } = script;
  let grouped = script.group === false ? undefined : script.group.source;
  for (const [from, to] of changes) {
    if (!source.includes(from) && !grouped?.includes(from)) throw new Error(`${script.name} does not have: ${from}`);
    source = source.replace(from, () => to);
    grouped = grouped?.replace(from, () => to);
  }
  const group = script.group === false ? false : { ...script.group, source: grouped };
  return defineScript({ ...(script as object), source, group } as never);
}

/** Explores a protocol with seeded defects. @returns the moves of the shortest counter-example, and what is wrong after them */
export function counterExample<State>(
  protocol: State,
  replaced: readonly ScriptDefinition[],
): { moves: readonly string[]; problem: string } | undefined {
  const seeded = { ...(protocol as unknown as Protocol), replaced };
  const { violation } = new Search(seeded).run({ states: 60_000 });
  return violation && { moves: replay(seeded, violation.path).moves, problem: violation.problem };
}
