import type { ScriptDefinition } from 'luanest/script-registry';
import { ScriptCodec } from '../../script-registry/src/pipe/script-codec';

/** Sent in front of the arguments of the calls: one call, its numbers of keys and of arguments. */
const constant = (value: number) => ({ label: 'constant', encode: () => String(value) });

/**
 * Returns a script that runs the Lua for groups for a single call, which a ScriptRegistry would send alone. An error of the call is
 * the error of the script.
 */
export function groupOfOne(script: ScriptDefinition): ScriptDefinition {
  return {
    ...script,
    name: `${script.name}-group`,
    group: { ...(script.group as Exclude<ScriptDefinition['group'], false>), maxCalls: 1 },
    // The form of `this.group`, which `npm run mutants` replaces.
    get source() {
      const group = { ...(this.group as Exclude<ScriptDefinition['group'], false>), maxCalls: 2 };
      const body = new ScriptCodec({ ...script, group }, true).group?.body ?? '';
      return body.replace(/^#!lua.*\n/, '').replace(/return luanest_out\n$/, 'return luanest_out[1]\n');
    },
    args: {
      calls: constant(1),
      keyCount: constant(script.keys.length),
      argCount: constant(Object.keys(script.args as object).length),
      ...(script.args as object),
    },
  };
}
