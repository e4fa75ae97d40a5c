import type { DedicatedConnection } from './port';

/** Dedicated connections: one separate connection to each node of a client, for commands that block, such as WAIT. */
export class DedicatedConnections {
  private readonly byNode = new Map<string, Promise<DedicatedConnection>>();

  /**
   * Returns the connection to a node.
   *
   * @param open opens a connection; called if there is none. It must call `ended` when the connection has ended
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
