import { BaseRpcContext } from '@nestjs/microservices';
import type { StreamMessage } from 'luanest/stream-consumer';
import { isEventStream, type EventPayload } from './transport.patterns';

/** Context of a handler that StreamServer runs. `@Ctx()` injects it. */
export class StreamContext extends BaseRpcContext<[message: StreamMessage<EventPayload>, signal: AbortSignal]> {
  /** Message of the stream, with its id, key and times. The payload of the handler is `message.payload.data`. */
  get message(): StreamMessage<EventPayload> {
    return this.args[0];
  }

  /** Number of this attempt, from 1. Always 1 for a request. */
  get attempt(): number {
    return this.message.attempt;
  }

  /**
   * AbortSignal that is aborted together with the signal of the StreamMessage. For a request, also when the client no longer waits, with a
   * TimeoutError as the reason. StreamServer then unsubscribes from the Observable that the handler has returned.
   */
  get signal(): AbortSignal {
    return this.args[1];
  }

  /** True if the handler has `@EventPattern`; false if it has `@MessagePattern`. */
  get isEvent(): boolean {
    return isEventStream(this.message.stream);
  }

  /**
   * Returns the metadata of the message, such as a trace id, which a client adds with `setOnDispatchHook` of Nest 12; undefined if there is
   * none.
   */
  getMetadata(): Readonly<Record<string, string>> | undefined {
    return this.message.payload.metadata;
  }
}
