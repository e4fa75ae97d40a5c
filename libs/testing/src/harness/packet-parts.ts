import type { Payout, PayoutRun, RedPacketPayouts } from 'luanest/red-packet';
import type { StreamMessage, StreamStats, StreamConsumerService } from 'luanest/stream-consumer';

/** Private parts of RedPacketPayouts and of its run. */
interface PayoutsParts {
  readonly runs: ReadonlySet<PayoutRun>;
  outboxOf(activityId: string): Promise<Outbox | undefined>;
}

interface Outbox {
  with<T>(use: (streams: StreamConsumerService, stream: never, group: string) => Promise<T>): Promise<T>;
}

interface RunParts {
  readonly stopped: boolean;
  readonly checks: { add(activityId: string): void };
  readonly readings: ReadonlyMap<string, { readonly handle: { readonly partitions: readonly Partition[] } }>;
  pay: (activityId: string, expiresAtMs: number, message: StreamMessage) => unknown;
}

interface Partition {
  readonly wakeup: { ring(): void };
}

/** Fields of a payout that the outbox has. */
export type PaidPacket = Pick<Payout, 'activityId' | 'userId' | 'packetId' | 'amountCents' | 'attempt'>;

/** Returns true if the app pays winners. */
export function paysWinners(payouts: RedPacketPayouts): boolean {
  return runsOf(payouts).length > 0;
}

/** Makes the payout run read the outboxes of an activity now. */
export function readOutboxes(payouts: RedPacketPayouts, activityId: string): void {
  for (const { checks, readings } of runsOf(payouts)) {
    checks.add(activityId);
    for (const { wakeup } of readings.get(activityId)?.handle.partitions ?? []) wakeup.ring();
  }
}

/** Returns how many payouts of an activity are open and do not wait for their next attempt. */
export async function payoutsLeft(payouts: RedPacketPayouts, activityId: string): Promise<number> {
  const outbox = await (payouts as unknown as PayoutsParts).outboxOf(activityId);
  const stats = await outbox?.with<StreamStats>((streams, stream, group) => streams.stats(stream, group));
  return stats === undefined ? 0 : stats.length - stats.due;
}

/** Calls `paying` with each payout that a run hands to its handler, and with the stream and the id of the message. */
export function watchPayouts(run: PayoutRun, paying: (packet: PaidPacket, message: StreamMessage) => void): void {
  const parts = run as unknown as RunParts;
  const pay = parts.pay.bind(run);
  parts.pay = (activityId, expiresAtMs, message) => {
    const { user, packet, cents } = message.payload as Record<string, unknown>;
    const { attempt } = message;
    paying(
      { activityId, userId: String(user), packetId: String(packet), amountCents: Number(cents), attempt },
      message,
    );
    return pay(activityId, expiresAtMs, message);
  };
}

function runsOf(payouts: RedPacketPayouts): RunParts[] {
  const runs = [...(payouts as unknown as PayoutsParts).runs] as unknown as RunParts[];
  return runs.filter(({ stopped }) => !stopped);
}
