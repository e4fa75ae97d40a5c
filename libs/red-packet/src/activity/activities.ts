import type { ScriptRegistry } from 'luanest/script-registry';
import { Layouts } from '../buckets/layout';
import { Transfers } from '../buckets/transfers';
import { Outboxes } from '../payouts/outboxes';
import { ActivityList } from './activity-list';
import { Lifecycle } from './lifecycle';

/** The parts that RedPacketService and RedPacketPayouts share. */
export class Activities {
  readonly layouts: Layouts;
  readonly list: ActivityList;
  readonly transfers: Transfers;
  readonly outboxes: Outboxes;
  readonly lifecycle: Lifecycle;

  constructor(registry: ScriptRegistry, { partitions }: { readonly partitions: number }) {
    this.layouts = new Layouts(registry.keySpace('red-packet'), partitions);
    this.list = new ActivityList(registry, partitions);
    this.transfers = new Transfers(registry);
    this.outboxes = new Outboxes(registry);
    this.lifecycle = new Lifecycle(registry, this.layouts, this.transfers, this.list, this.outboxes);
  }
}
