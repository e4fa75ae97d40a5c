import type { KeySpace, ScriptRegistry } from 'luanest/script-registry';
import { decodeResult } from './once.input';
import { endClaim, lookOnce, peekOnce } from './once.scripts';

/** Kind of an id: one of the app, a message of a method with `@Once()`, a request, or one of `first`. */
type Kind = 'claim' | 'handler' | 'request' | 'first';

/** Parts of OnceService that `luanest/console` needs. An id is the whole hash tag of its key. */
export class OnceConsole {
  private readonly keys: KeySpace;

  constructor(readonly registry: ScriptRegistry) {
    this.keys = registry.keySpace('once');
  }

  /** Reads the state of an id, and the size of its result. @throws InvalidInputError; the errors of ScriptRegistry.run() */
  look(kind: Kind, id: string) {
    return this.registry.run(lookOnce, { keys: { claim: this.keyOf(kind, id) }, args: {} });
  }

  /** Reads the result of an id that is done; undefined if there is none. Throws what `look` throws. */
  async resultOf(kind: 'claim' | 'handler', id: string): Promise<unknown> {
    const { result } = await this.registry.run(peekOnce, { keys: { claim: this.keyOf(kind, id) }, args: {} });
    return decodeResult(result);
  }

  /** Releases the claim of an owner, or forgets an id. @param fence that of the claim that was seen. Throws what `look` throws */
  end(kind: Kind, id: string, verb: 'release' | 'forget', fence: string) {
    return this.registry.run(endClaim, { keys: { claim: this.keyOf(kind, id) }, args: { verb, fence } });
  }

  private keyOf(kind: Kind, id: string): string {
    return this.keys.tag(id).key(kind);
  }
}
