import type { AnyScript } from 'luanest/script-registry';
import { ScriptCodec } from '../../script-registry/src/pipe/script-codec';

/** Sent in front of the arguments of the calls: one call, its numbers of keys and of arguments. */
const constant = (value: number) => ({ label: 'constant', encode: () => String(value) });

/**
 * Returns a script that runs the Lua for groups for a single call, which a ScriptRegistry would send alone. An error of the call is
 * the error of the script.
 */
export function groupOfOne(script: AnyScript): AnyScript {
  const body = new ScriptCodec(script, true).group?.body ?? '';
  const args = script.args as Record<string, unknown>;
  return {
    ...script,
    name: `${script.name}-group`,
    source: body.replace(/^#!lua.*\n/, '').replace(/return luanest_out\n$/, 'return luanest_out[1]\n'),
    group: false,
    args: {
      calls: constant(1),
      keyCount: constant(script.keys.length),
      argCount: constant(Object.keys(args).length),
      ...args,
    },
    reply: script.reply,
  };
}
