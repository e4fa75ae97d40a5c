import { Body, Controller, Get, HttpCode, Param, Post, Query, UseGuards, UseInterceptors } from '@nestjs/common';
import { answer, found, readLimit } from '../http-errors';
import { RedPacketAdminGuard } from '../red-packet.guard';
import { RedPacketIdempotency } from '../red-packet.interceptor';
import { refuse } from '../red-packet.input';
import type { DeadPayoutPage, PayoutStats } from './payouts.types';
import { RedPacketPayouts } from './payouts.service';

/** HTTP for payouts, all of it for admins. */
@Controller('red-packets')
@UseGuards(RedPacketAdminGuard)
export class RedPacketPayoutsController {
  constructor(private readonly payouts: RedPacketPayouts) {}

  /** How the payouts of an activity stand. */
  @Get(':activityId/payouts')
  async stats(@Param('activityId') activityId: string): Promise<PayoutStats> {
    return found(activityId, await answer(() => this.payouts.stats(activityId)));
  }

  /** Payouts that were given up; query `cursor?`, `limit?` (1 to 500). */
  @Get(':activityId/payouts/dead')
  dead(
    @Param('activityId') activityId: string,
    @Query('cursor') cursor?: string,
    @Query('limit') limit?: string,
  ): Promise<DeadPayoutPage> {
    return answer(() =>
      this.payouts.deadLetters(activityId, { cursor, limit: limit === undefined ? undefined : readLimit(limit, 500) }),
    );
  }

  /** Hands payouts out again that were given up; body `{ "ids": ["..."] }` or `{ "ids": "all" }`. */
  @Post(':activityId/payouts/replay')
  @HttpCode(200)
  @UseInterceptors(RedPacketIdempotency)
  async replay(@Param('activityId') activityId: string, @Body() body: unknown): Promise<{ readonly replayed: number }> {
    return { replayed: await answer(() => this.payouts.replay(activityId, readIds(body))) };
  }
}

function readIds(body: unknown): readonly string[] | 'all' {
  const { ids } = (body ?? {}) as { readonly ids?: unknown };
  if (ids === 'all') return ids;
  if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return ids;
  return refuse('ids', ids, 'Give an array of ids of dead payouts, or "all".');
}
