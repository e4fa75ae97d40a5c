import { defineTask } from 'luanest/delayed-task';
import { defineStream } from 'luanest/stream-consumer';

export interface OrderPlaced {
  readonly orderId: string;
  readonly email: string;
}

export const orderPlaced = defineStream<OrderPlaced>({ name: 'order.placed', partitions: 4 });

export const cancelUnpaid = defineTask<{ orderId: string }>({ name: 'order.cancel-unpaid' });
