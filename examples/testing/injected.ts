import { Injectable } from '@nestjs/common';
import { DelayedTaskService } from 'luanest/delayed-task';
import { LockService } from 'luanest/lock';
import { ReadRewardService } from 'luanest/read-reward';
import { StreamConsumerService } from 'luanest/stream-consumer';

/** Classes that call services of luanest. Their tests are in injected.test.ts. */

@Injectable()
export class Reminders {
  constructor(private readonly tasks: DelayedTaskService) {}

  async remind(id: string): Promise<void> {
    await this.tasks.schedule('remind', { id }, { delayMs: 1_000 });
  }
}

@Injectable()
export class Orders {
  constructor(private readonly streams: StreamConsumerService) {}

  async place(id: string): Promise<void> {
    await this.streams.publish('orders', { id });
  }
}

@Injectable()
export class Stock {
  constructor(private readonly locks: LockService) {}

  take(id: string): Promise<number> {
    return this.locks.withLock(`stock:${id}`, {}, () => 1);
  }
}

@Injectable()
export class Articles {
  constructor(private readonly rewards: ReadRewardService) {}

  async read(userId: string, itemId: string): Promise<number> {
    const { points } = await this.rewards.record({ rule: 'articles', userId, itemId });
    return points;
  }
}
