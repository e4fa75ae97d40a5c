import type { PublishOptions } from 'luanest/stream-consumer';

/** Data of an event with publish options: `client.emit('order.paid', new StreamRecord(order, { key: order.id }))`. */
export class StreamRecord<Data = unknown> {
  /**
   * @param data data that the handler gets as its payload
   * @param options `key`: handlers with `ordered` keep the order of events with the same key. `operationId`: a second emit with the same id
   *   adds no second event
   */
  constructor(
    readonly data: Data,
    readonly options: PublishOptions = {},
  ) {}
}
