import { nextTurn } from '../../../internal/src';
import type { Partition } from '../queue/partitions';
import { MAX_CHUNK } from '../queue/queue.scripts';
import type { Attempt } from './running-attempts';

/** Collects attempts by partition. Sends a batch at the end of a turn of the event loop, or when it has 100 attempts. */
export class Batches {
  private readonly open = new Map<Partition, Attempt[]>();
  private scheduled = false;

  constructor(private readonly send: (partition: Partition, batch: readonly Attempt[]) => void) {}

  add(attempt: Attempt): void {
    const { partition } = attempt;
    let batch = this.open.get(partition);
    if (batch === undefined) {
      batch = [];
      this.open.set(partition, batch);
    }
    batch.push(attempt);
    if (batch.length >= MAX_CHUNK) {
      this.open.delete(partition);
      this.send(partition, batch);
    } else if (!this.scheduled) {
      this.scheduled = true;
      nextTurn(() => this.flush());
    }
  }

  private flush(): void {
    this.scheduled = false;
    const batches = [...this.open];
    this.open.clear();
    for (const [partition, batch] of batches) this.send(partition, batch);
  }
}
