import { Logger } from '@nestjs/common';
import type { WritePacket } from '@nestjs/microservices';
import type { ScriptRegistry } from 'luanest/script-registry';
import { thrownText } from '../../internal/src';
import { MAX_BYTES, type RequestPayload } from './transport.patterns';
import { passReply } from './transport.scripts';

/** A part of a reply, published as JSON on the channel of the client. */
export interface ReplyPacket {
  /** Id of the request. */
  readonly id: string;
  /**
   * Number of this part, from 0, by which the client notices a lost or repeated part.
   * See DECISIONS.md: replies-have-numbers
   */
  readonly part: number;
  readonly response?: unknown;
  /** Error of the handler, after Nest's exception filters. */
  readonly err?: unknown;
  /** True for the last part of a reply. */
  readonly isDisposed?: boolean;
}

/** Returns the name of the Pub/Sub channel with the replies for a client. @throws InvalidInputError for an invalid name of a client */
export function repliesOf(registry: ScriptRegistry, client: string): string {
  return registry.keySpace('transport').tag(client).key('replies');
}

function failure(message: string): WritePacket {
  return { err: { status: 'error', message }, isDisposed: true };
}

/** Sends the parts of the reply to one request, one after the other. */
export class Replies {
  private readonly logger = new Logger('StreamServer');
  private readonly channel: string;
  private readonly waiting: WritePacket[] = [];
  private sending: Promise<void> | undefined;
  private part = 0;
  private ended = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly request: RequestPayload,
  ) {
    this.channel = repliesOf(registry, request.client);
  }

  value(response: unknown): void {
    this.add({ response });
  }

  /** Completes the reply. Resolves when each part was sent or could not be sent. */
  async end(): Promise<void> {
    const last = this.waiting.at(-1);
    if (last && !this.ended) last.isDisposed = this.ended = true;
    else this.add({ isDisposed: true });
    await this.sending;
  }

  /** Completes the reply with the error that the handler threw. Resolves as `end` does. */
  async fail(thrown: unknown): Promise<void> {
    // JSON has nothing of an Error, so its message is sent. Exception filters throw plain objects, which are sent unchanged.
    this.add(thrown instanceof Error ? failure(thrown.message) : { err: thrown ?? 'error', isDisposed: true });
    await this.sending;
  }

  private add(packet: WritePacket): void {
    if (this.ended) return;
    this.ended = packet.isDisposed === true;
    this.waiting.push(packet);
    this.sending ??= this.pump().finally(() => (this.sending = undefined));
  }

  private async pump(): Promise<void> {
    // An Observable often completes right after its last value. A short wait lets the last value and the end share one part.
    await Promise.resolve();
    for (let packet = this.waiting.shift(); packet; packet = this.waiting.shift()) await this.send(packet);
  }

  private async send(packet: WritePacket): Promise<void> {
    try {
      await this.registry.run(passReply, { keys: { replies: this.channel }, args: { packet: this.textOf(packet) } });
    } catch (error) {
      this.logger.warn(
        `A part of the reply to a request could not be sent to Redis, so the client gets an error, or waits until its timeoutMs is over. ` +
          thrownText(error),
      );
    }
  }

  /** Returns a part as JSON. If it is too large, or has no JSON, returns a part with an error instead. */
  private textOf(packet: WritePacket): string {
    const { id } = this.request;
    const part = this.part++;
    try {
      const text = JSON.stringify({ ...packet, id, part });
      if (Buffer.byteLength(text) <= MAX_BYTES) return text;
      return JSON.stringify({
        ...failure(`The handler ran, but its reply has more than ${MAX_BYTES} bytes as JSON. Return less data.`),
        id,
        part,
      });
    } catch {
      return JSON.stringify({
        ...failure('The handler ran, but its reply cannot be written as JSON. Return plain data.'),
        id,
        part,
      });
    }
  }
}
