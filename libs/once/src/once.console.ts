import type { KeySpace, ScriptRegistry } from 'luanest/script-registry';
import { decodeResult } from './once.input';
import { endClaim, lookOnce, peekOnce } from './once.scripts';

/**
 * Kind of an id. `claim`: an id that the app has chosen. `handler`: a message of a method with `@Once()`. `request`: an HTTP
 * request. `first`: an id that was passed to `OnceService.first`.
 */
type Kind = 'claim' | 'handler' | 'request' | 'first';

/** Reads and ends claims for `luanest/console`. An id is here the hash tag of a Redis key: the text in braces. */
export class OnceConsole {
  private readonly keys: KeySpace;

  constructor(readonly registry: ScriptRegistry) {
    this.keys = registry.keySpace('once');
  }

  /** Reads the state of an id, and the size of its result. @throws InvalidInputError; the errors of ScriptRegistry.run() */
  look(kind: Kind, id: string) {
    return this.registry.run(lookOnce, { keys: { claim: this.keyOf(kind, id) }, args: {} });
  }

  /** Returns the stored result of an id; undefined if there is none. Throws the same errors as `look`. */
  async resultOf(kind: 'claim' | 'handler', id: string): Promise<unknown> {
    const { result } = await this.registry.run(peekOnce, { keys: { claim: this.keyOf(kind, id) }, args: {} });
    return decodeResult(result);
  }

  /**
   * Releases the claim of an owner, or deletes an id. Throws the same errors as `look`.
   *
   * @param fence fencing token of the claim that the operator has seen. If the id has another claim now, nothing changes
   */
  end(kind: Kind, id: string, verb: 'release' | 'forget', fence: string) {
    return this.registry.run(endClaim, { keys: { claim: this.keyOf(kind, id) }, args: { verb, fence } });
  }

  private keyOf(kind: Kind, id: string): string {
    return this.keys.tag(id).key(kind);
  }
}
