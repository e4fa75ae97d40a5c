import { defineScript, type ScriptDefinition } from 'luanest/script-registry';

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
