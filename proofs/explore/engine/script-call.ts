import type { ScriptDefinition } from 'luanest/script-registry';

/** A call of a script, as the library's code makes it. */
export interface ScriptCall {
  readonly script: ScriptDefinition;
  readonly input: {
    readonly keys: Readonly<Record<string, unknown>>;
    readonly args: Readonly<Record<string, unknown>>;
  };
}
