import { BaseRpcContext } from '@nestjs/microservices';
import type { StreamMessage } from 'luanest/stream-consumer';
import { isEventStream, type EventPayload } from './transport.patterns';

/** The context of a handler that StreamServer runs, for `@Ctx()`. */
export class StreamContext extends BaseRpcContext<[message: StreamMessage<EventPayload>, signal: AbortSignal]> {
  /** Message of the stream: its id, its key, its times. Its payload has the payload of the handler as `data`. */
  get message(): StreamMessage<EventPayload> {
    return this.args[0];
  }

  /** Number of this attempt, from 1. Always 1 for a request. */
  get attempt(): number {
    return this.message.attempt;
  }

  /**
   * Fires as the signal of `StreamMessage` does, and for a request also when its client no longer waits, with a TimeoutError as the
   * reason. An observable that the handler returned is unsubscribed then.
   */
  get signal(): AbortSignal {
    return this.args[1];
  }

  /** True for `@EventPattern`, false for `@MessagePattern`. */
  get isEvent(): boolean {
    return isEventStream(this.message.stream);
  }

  /** Returns the texts that `setOnDispatchHook` of a client of Nest 12 has added, if any. */
  getMetadata(): Readonly<Record<string, string>> | undefined {
    return this.message.payload.metadata;
  }
}
