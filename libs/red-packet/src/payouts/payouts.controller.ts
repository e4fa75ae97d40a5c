import type { Page } from '../../../internal/src';
import { Body, Controller, Get, HttpCode, Param, Post, Query, UseGuards, UseInterceptors } from '@nestjs/common';
import { answer, found, readLimit } from '../http-errors';
import { RedPacketAdminGuard } from '../red-packet.guard';
import { RedPacketIdempotency } from '../red-packet.interceptor';
import { refuse } from '../red-packet.input';
import type { PayoutDeadLetter, PayoutStats } from './payouts.types';
import { RedPacketPayouts } from './payouts.service';

/** HTTP routes for payouts, which `adminGuard` protects. */
@Controller('red-packets')
@UseGuards(RedPacketAdminGuard)
export class RedPacketPayoutsController {
  constructor(private readonly payouts: RedPacketPayouts) {}

  /** Counts the payouts of an activity by state; 404 if there is no such activity. */
  @Get(':activityId/payouts')
  async stats(@Param('activityId') activityId: string): Promise<PayoutStats> {
    return found(activityId, await answer(() => this.payouts.stats(activityId)));
  }

  /** Lists dead-lettered payouts; query `cursor?`, `limit?` (1 to 500). */
  @Get(':activityId/payouts/dead-letters')
  deadLetters(
    @Param('activityId') activityId: string,
    @Query('cursor') cursor?: string,
    @Query('limit') limit?: string,
  ): Promise<Page<PayoutDeadLetter>> {
    return answer(() =>
      this.payouts.deadLetters(activityId, { cursor, limit: limit === undefined ? undefined : readLimit(limit, 500) }),
    );
  }

  /** Replays dead-lettered payouts by their ids; body `{ "ids": ["..."] }`. */
  @Post(':activityId/payouts/replay')
  @HttpCode(200)
  @UseInterceptors(RedPacketIdempotency)
  async replay(@Param('activityId') activityId: string, @Body() body: unknown): Promise<{ readonly replayed: number }> {
    return { replayed: await answer(() => this.payouts.replay(activityId, readIds(body))) };
  }

  /** Replays all dead-lettered payouts of an activity. */
  @Post(':activityId/payouts/replay-all')
  @HttpCode(200)
  @UseInterceptors(RedPacketIdempotency)
  async replayAll(@Param('activityId') activityId: string): Promise<{ readonly replayed: number }> {
    return { replayed: await answer(() => this.payouts.replayAll(activityId)) };
  }
}

function readIds(body: unknown): readonly string[] {
  const { ids } = (body ?? {}) as { readonly ids?: unknown };
  if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return ids;
  return refuse('ids', ids, 'an array of ids of dead-lettered payouts');
}
