import { type Address, withAdmin } from './admin';
import { TestServerError } from './errors';

export interface NodeView {
  id: string;
  port: number;
  flags: string[];
  /** Id of the master that this replica follows, or `-`. */
  masterId: string;
  linked: boolean;
  /** Slots and slot ranges in the format of CLUSTER NODES, such as `0-5460`, without slots that are being moved. */
  slots: string[];
}

export interface ClusterView {
  nodes: NodeView[];
  self: NodeView;
  stateOk: boolean;
  /** State of a replica's link to its master; undefined for a master. */
  masterLink: string | undefined;
  /** Ports of the nodes that clients get from CLUSTER SLOTS: a node leaves out replicas whose replication offset it does not know yet. */
  listed: ReadonlySet<number>;
}

/** Returns what one node knows about the whole Cluster. */
export function viewOf(node: Address): Promise<ClusterView> {
  return withAdmin(node, async (admin) => {
    const [lines, info, replication, ranges] = await Promise.all([
      admin.call('CLUSTER', 'NODES') as Promise<string>,
      admin.call('CLUSTER', 'INFO') as Promise<string>,
      admin.info('replication'),
      admin.call('CLUSTER', 'SLOTS') as Promise<
        [first: number, last: number, ...nodes: [host: string, port: number][]][]
      >,
    ]);
    const nodes = lines.trim().split('\n').map(parseLine);
    const self = nodes.find(({ flags }) => flags.includes('myself'));
    if (!self) throw new TestServerError(`The node on port ${node.port} does not list itself.`);
    const masterLink = /master_link_status:(\w+)/.exec(replication)?.[1];
    const listed = new Set(ranges.flatMap(([, , ...owners]) => owners.map(([, port]) => Number(port))));
    return { nodes, self, stateOk: info.includes('cluster_state:ok'), masterLink, listed };
  });
}

export function isFailing({ flags }: NodeView): boolean {
  return flags.some((flag) => flag === 'fail' || flag === 'fail?' || flag === 'handshake' || flag === 'noaddr');
}

export function owns({ slots }: NodeView, slot: number): boolean {
  return slots.some((range) => {
    const [first, last = first] = range.split('-').map(Number) as [number, number?];
    return slot >= first && slot <= last;
  });
}

/** Returns the owners of slots and the masters of replicas as one text. Two nodes agree if these texts are equal. */
export function topologyOf(view: ClusterView): string {
  return view.nodes
    .map(({ id, masterId, slots }) => [id, masterId, ...slots].join(' '))
    .sort()
    .join('\n');
}

function parseLine(line: string): NodeView {
  const [id, address, flags, masterId, , , , link, ...slots] = line.split(' ');
  return {
    id: id as string,
    port: Number(/:(\d+)@/.exec(address as string)?.[1]),
    flags: (flags as string).split(','),
    masterId: masterId as string,
    linked: link === 'connected',
    slots: slots.filter((slot) => !slot.startsWith('[')),
  };
}
