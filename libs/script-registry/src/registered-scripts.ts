import { fingerprint } from './define-script';
import type { ScriptPipe } from './pipe/script-pipe';
import type { ScriptDefinition } from './script-definition';
import { shown } from '../../internal/src';
import { SetupError } from './script-registry.errors';

/** The registered scripts of one ScriptRegistry. Each script has a ScriptPipe, which sends its calls. */
export class RegisteredScripts {
  readonly pipes = new Map<ScriptDefinition, ScriptPipe>();

  constructor(private readonly registry: string) {}

  /**
   * Adds scripts. Ignores a script that was added before.
   *
   * @param makePipe creates the ScriptPipe for a new script
   * @returns the ScriptPipes of the new scripts
   * @throws SetupError if two different scripts have the same name
   */
  add(scripts: readonly ScriptDefinition[], makePipe: (script: ScriptDefinition) => ScriptPipe): ScriptPipe[] {
    const added: ScriptPipe[] = [];
    for (const script of scripts) {
      if (this.pipes.has(script)) continue;
      for (const other of this.pipes.keys()) {
        if (other.name === script.name && fingerprint(other) !== fingerprint(script)) {
          throw new SetupError(
            `ScriptRegistryModule: Two different scripts in ScriptRegistry "${this.registry}" have the name ${script.name}. Rename one of them.`,
            { code: 'SCRIPT_CONFLICT' },
          );
        }
      }
      const pipe = makePipe(script);
      this.pipes.set(script, pipe);
      added.push(pipe);
    }
    return added;
  }

  /** Returns the error for a call of a script that is not registered. */
  unknown(script: unknown): SetupError {
    const known = [...this.pipes.keys()].map(({ name }) => name).join(', ') || 'none';
    const name = (script as ScriptDefinition | undefined)?.name ?? shown(script);
    return new SetupError(
      `The script ${name} is not registered with ScriptRegistry "${this.registry}". Import ScriptRegistryModule.forFeature([...]) ` +
        `with the same object that defineScript() returned, and with the name of the ScriptRegistry if it is not "default". ` +
        `Registered scripts: ${known}.`,
      { code: 'SCRIPT_NOT_REGISTERED' },
    );
  }
}
