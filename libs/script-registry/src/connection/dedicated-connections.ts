import type { DedicatedConnection } from './port';

/** The dedicated connections of a client, one for each node. */
export class DedicatedConnections {
  private readonly byNode = new Map<string, Promise<DedicatedConnection>>();

  /**
   * Returns the connection to a node.
   *
   * @param open opens one if there is none; must call its argument when the connection has ended
   */
  get(node: string, open: (ended: () => void) => Promise<DedicatedConnection>): Promise<DedicatedConnection> {
    const known = this.byNode.get(node);
    if (known) return known;
    const forget = (): void => {
      if (this.byNode.get(node) === opened) this.byNode.delete(node);
    };
    const opened = open(forget);
    opened.catch(forget);
    this.byNode.set(node, opened);
    return opened;
  }

  close(): void {
    for (const opened of this.byNode.values()) opened.then((own) => own.close()).catch(() => undefined);
  }
}
