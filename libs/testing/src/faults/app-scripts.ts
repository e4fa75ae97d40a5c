import type { ModulesContainer } from '@nestjs/core';
import { ScriptRegistry } from 'luanest/script-registry';

/** Private parts of a ScriptRegistry that know its scripts. */
interface RegistryParts {
  readonly scripts: { readonly pipes: ReadonlyMap<unknown, { readonly codec: Script }> };
}

interface Script {
  readonly name: string;
  /** Names of the script in EVALSHA and EVAL. */
  readonly forms: readonly { readonly sha: string; readonly body: string }[];
}

/** The scripts of an app, by ScriptRegistry. */
export class AppScripts {
  constructor(private readonly modules: ModulesContainer) {}

  /** Names of the ScriptRegistries of the app. */
  get registries(): string[] {
    return this.found().map(({ name }) => name);
  }

  /** Returns the names of the scripts that are registered, sorted. @param registry default: of all ScriptRegistries */
  names(registry?: string): string[] {
    const names = this.found().flatMap((one) =>
      registry === undefined || one.name === registry ? scriptsOf(one).map(({ name }) => name) : [],
    );
    return [...new Set(names)].sort();
  }

  /** Returns true if a command runs a script. @param head first argument of the EVALSHA or EVAL */
  isCallOf(registry: string, script: string, head: unknown): boolean {
    const scripts = this.found().flatMap((one) => (one.name === registry ? scriptsOf(one) : []));
    return scripts.some(
      ({ name, forms }) => name === script && forms.some(({ sha, body }) => head === sha || head === body),
    );
  }

  private found(): ScriptRegistry[] {
    const wrappers = [...this.modules.values()].flatMap(({ providers }) => [...providers.values()]);
    const registries = wrappers.flatMap(({ instance }) => (instance instanceof ScriptRegistry ? [instance] : []));
    return [...new Set(registries)];
  }
}

function scriptsOf(registry: ScriptRegistry): Script[] {
  return [...(registry as unknown as RegistryParts).scripts.pipes.values()].map(({ codec }) => codec);
}
