import type { DedicatedConnection } from './port';

/** Keeps one separate connection to each node of a client. Commands that block their connection, such as WAIT, use it. */
export class DedicatedConnections {
  private readonly byNode = new Map<string, Promise<DedicatedConnection>>();

  /**
   * Returns the separate connection to a node.
   *
   * @param open function that opens a connection if none exists. It must call `ended` when the connection has ended
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
