import { INSPECT } from '../../../internal/src';
import type { AppServices } from '../harness/app-services';

/** Scripts of all ScriptRegistries of an app. */
export class AppScripts {
  constructor(private readonly services: AppServices) {}

  /** Returns the names of the scripts, sorted. */
  names(): string[] {
    const names = this.services.registries.flatMap((one) => one[INSPECT]().map(({ name }) => name));
    return [...new Set(names)].sort();
  }

  /** Returns true if a command runs this script. @param head first argument of the EVALSHA or EVAL: hash or text of a script */
  isCallOf(registry: string, script: string, head: unknown): boolean {
    const scripts = this.services.registries.flatMap((one) => (one.name === registry ? one[INSPECT]() : []));
    return scripts.some(
      ({ name, forms }) => name === script && forms.some(({ sha, body }) => head === sha || head === body),
    );
  }
}
