import { fingerprint } from './define-script';
import type { ScriptRunner } from './group/runner';
import type { AnyScript } from './script-definition';
import { ScriptConflictError, ScriptNotRegisteredError } from './script-registry.errors';

/** Scripts of one ScriptRegistry, each with the runner of its calls. */
export class RegisteredScripts {
  private readonly runners = new Map<AnyScript, ScriptRunner>();

  constructor(private readonly registry: string) {}

  /**
   * Adds scripts. A script that was added before is left out.
   *
   * @returns the runners that `makeRunner` made
   * @throws ScriptConflictError if two different scripts have the same name
   */
  add(scripts: readonly AnyScript[], makeRunner: (script: AnyScript) => ScriptRunner): ScriptRunner[] {
    const added: ScriptRunner[] = [];
    for (const script of scripts) {
      if (this.runners.has(script)) continue;
      for (const other of this.runners.keys()) {
        if (other.name === script.name && fingerprint(other) !== fingerprint(script)) {
          throw new ScriptConflictError(
            `ScriptRegistryModule: Two different scripts of ScriptRegistry "${this.registry}" are named ${script.name}. Rename one of them.`,
          );
        }
      }
      const runner = makeRunner(script);
      this.runners.set(script, runner);
      added.push(runner);
    }
    return added;
  }

  /** Returns the runner of a script. @throws ScriptNotRegisteredError if the script was not added */
  runnerOf(script: AnyScript): ScriptRunner {
    const runner = this.runners.get(script);
    if (runner) return runner;
    const known = [...this.runners.keys()].map(({ name }) => name).join(', ') || 'none';
    throw new ScriptNotRegisteredError(
      `${script.name} is not registered with ScriptRegistry "${this.registry}". Import ScriptRegistryModule.forFeature([...]) ` +
        `with this same object, and with the name of the ScriptRegistry if it is not "default". Registered: ${known}.`,
    );
  }
}
