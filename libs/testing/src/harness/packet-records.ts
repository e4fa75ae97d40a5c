import type { GrabResult, Payout, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import type { StreamConsumerEvents } from 'luanest/stream-consumer';
import { INSPECT } from '../../../internal/src';

/** A call of `grab` with its result. */
export type GrabbedPacket = GrabResult & { readonly activityId: string; readonly userId: string };

type PaidPacket = Pick<Payout, 'activityId' | 'userId' | 'packetId' | 'amountCents' | 'attempt'>;

/** Result of one attempt to pay a winner. */
export interface PayoutOutcome extends PaidPacket {
  /** `paid`: the handler succeeded. `retried`: another attempt follows. `dead`: the payout is dead-lettered. */
  readonly status: 'paid' | 'retried' | 'dead';
  /** Error of the handler; undefined if it succeeded, or used `retryLater` or `deadLetter`. */
  readonly error: unknown;
  /** Text that Redis keeps with the dead letter, such as the reason of `deadLetter`; '' for another status. */
  readonly reason: string;
  /** Pause before the next attempt, ms; undefined unless the status is `retried`. */
  readonly delayMs: number | undefined;
}

/** Grabs and payouts of the app since `clear()`. */
export class PacketRecords {
  readonly grabbed: GrabbedPacket[] = [];
  readonly payouts: PayoutOutcome[] = [];
  /** Payouts whose handlers are running, by stream and id of their messages. */
  private readonly open = new Map<string, PaidPacket>();

  clear(): void {
    this.grabbed.length = this.payouts.length = 0;
  }

  /** Begins to record the calls of `grab`, and the attempts to pay winners. */
  watch(packets: RedPacketService, payouts: RedPacketPayouts | undefined): void {
    packets[INSPECT]().watch((activityId, userId, result) => {
      result.then(
        (grabbed) => this.grabbed.push({ ...grabbed, activityId, userId }),
        () => undefined,
      );
    });
    payouts?.[INSPECT]().watch(({ activityId, userId, packetId, amountCents, attempt }, message) => {
      const packet = { activityId, userId, packetId, amountCents, attempt };
      if (message !== undefined) this.open.set(`${message.stream} ${message.id}`, packet);
    });
  }

  handled({ stream, ids }: StreamConsumerEvents['messagesHandled']): void {
    for (const id of ids) this.end(stream, id, { status: 'paid' });
  }

  retried({ stream, id, error, delayMs }: StreamConsumerEvents['messageRetried']): void {
    this.end(stream, id, { status: 'retried', error, delayMs });
  }

  dead({ stream, id, error, reason }: StreamConsumerEvents['messageDeadLettered']): void {
    this.end(stream, id, { status: 'dead', error, reason });
  }

  private end(stream: string, id: string, outcome: Pick<PayoutOutcome, 'status'> & Partial<PayoutOutcome>): void {
    const packet = this.open.get(`${stream} ${id}`);
    if (packet === undefined) return;
    this.open.delete(`${stream} ${id}`);
    this.payouts.push({ ...packet, error: undefined, reason: '', delayMs: undefined, ...outcome });
  }
}
