import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import { RedPacketService } from 'luanest/red-packet';
import { Ledger } from './ledger.js';

@Controller('ledger')
export class LedgerController {
  constructor(
    private readonly packets: RedPacketService,
    private readonly ledger: Ledger,
  ) {}

  @Get(':activityId')
  async sums(@Param('activityId') activityId: string) {
    const rain = await this.packets.status(activityId);
    if (rain === undefined) throw new NotFoundException();
    return this.ledger.sums(activityId, rain.activityKey);
  }
}
