import type { PublishOptions } from 'luanest/stream-consumer';

/** Data of an event together with the options of its publish: `client.emit('order.paid', new StreamRecord(order, { key: order.id }))`. */
export class StreamRecord<Data = unknown> {
  /**
   * @param data what the handler gets as its payload
   * @param options `key`, which `ordered` handlers keep the order of; `operationId`, with which a repeated emit adds no second event
   */
  constructor(
    readonly data: Data,
    readonly options: PublishOptions = {},
  ) {}
}
