import type { ScriptRegistry } from 'luanest/script-registry';
import { Layouts } from '../buckets/layout';
import { Transfers } from '../buckets/transfers';
import { Outboxes } from '../payouts/outboxes';
import type { Ledger } from '../audit/audit.types';
import { Replicated, type ReplicaOptions } from '../replicated';
import { ActivityList } from './activity-list';
import { Lifecycle } from './lifecycle';

interface ActivitiesOptions extends ReplicaOptions {
  readonly partitions: number;
  readonly ledger?: Ledger | undefined;
}

/** Objects that RedPacketService and RedPacketPayouts share. */
export class Activities {
  readonly layouts: Layouts;
  readonly list: ActivityList;
  readonly transfers: Transfers;
  readonly outboxes: Outboxes;
  readonly lifecycle: Lifecycle;
  readonly replicated: Replicated;

  constructor(registry: ScriptRegistry, options: ActivitiesOptions) {
    const { partitions } = options;
    this.replicated = new Replicated(registry, options);
    this.layouts = new Layouts(registry.keySpace('red-packet'), partitions);
    this.list = new ActivityList(registry, partitions);
    this.transfers = new Transfers(registry, this.replicated);
    this.outboxes = new Outboxes(registry);
    this.lifecycle = new Lifecycle(registry, this, options);
  }
}
