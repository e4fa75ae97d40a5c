import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { RedPacketPayouts, RedPacketService, type Payout } from 'luanest/red-packet';
import { Ledger } from './ledger.js';

/** Books each packet that a user has won. All pods share the work. */
@Injectable()
export class Payer implements OnApplicationBootstrap {
  constructor(
    private readonly packets: RedPacketService,
    private readonly payouts: RedPacketPayouts,
    private readonly ledger: Ledger,
  ) {}

  onApplicationBootstrap(): void {
    this.payouts.run((payout) => this.pay(payout), { attempts: 500 });
  }

  private async pay(payout: Payout): Promise<void> {
    const booked = await this.ledger.book(payout);
    if (booked === 'booked') return;
    // Redis has lost a grant in a failover, and granted the packet or the user again. What the ledger has paid counts.
    const { activityId, activityKey, userId, packetId } = payout;
    const paid = booked === 'packet-paid' ? {} : { paid: booked };
    await this.packets.conflict(activityId, { activityKey, userId, packetId, ...paid });
  }
}
