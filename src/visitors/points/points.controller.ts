import {
  ConflictException,
  Controller,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  Post,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { RateLimit, RateLimitGuard } from 'luanest/rate-limit';
import { ReadRewardService, type RecordResult } from 'luanest/read-reward';
import { type ActivityStatus, RedPacketService } from 'luanest/red-packet';
import { GuestTokens } from '../identity/guest-tokens';
import { RainsService } from '../rains/rains.service';
import { JOIN_RULE } from './join.rule';

/** States in which a guest earns the point without a packet. A guest who taps too late finds the rain sold out. */
const OPEN: ReadonlySet<ActivityStatus['state']> = new Set(['open', 'sold-out']);

/** Points of a visitor today. */
export interface Points {
  /** Points that the visitor has earned today. */
  readonly points: number;
  /** Points that the visitor can still earn today. */
  readonly remaining: number;
  /** End of the day in China, ms since 1970; null if the rule has no period. */
  readonly resetsAtMs: number | null;
}

/** Points for rains that a visitor joins. */
@Controller('points')
export class PointsController {
  constructor(
    private readonly rewards: ReadRewardService,
    private readonly rains: RainsService,
    private readonly packets: RedPacketService,
    private readonly tokens: GuestTokens,
  ) {}

  @Get()
  async mine(@Req() request: object): Promise<Points> {
    const [status] = await this.rewards.status(this.guest(request));
    const { points = 0, remaining = 0, resetsAtMs = null } = status ?? {};
    return { points, remaining, resetsAtMs };
  }

  /**
   * Gives a point if the rain is open or sold out, or if the guest has a packet of it. A rain counts once a day, and at most three
   * count.
   */
  @Post(':activityId')
  @HttpCode(200)
  @UseGuards(RateLimitGuard)
  @RateLimit({ name: 'joins', limit: 600, windowMs: 60_000 })
  async join(
    @Param('activityId') activityId: string,
    @Req() request: object,
  ): Promise<Points & { readonly status: RecordResult['status'] }> {
    const userId = this.guest(request);
    const rain = await this.rains.sight(activityId);
    if (rain === undefined) throw new NotFoundException('There is no such rain. It may have expired.');
    if (!OPEN.has(rain.state) && (await this.packets.packetOf(activityId, userId)) === undefined) {
      throw new ConflictException(
        'There is no point for this rain, because it is not open and the guest has no packet of it.',
      );
    }
    const { status } = await this.rewards.record({ rule: JOIN_RULE, userId, itemId: activityId });
    return { status, ...(await this.mine(request)) };
  }

  private guest(request: object): string {
    const userId = this.tokens.userOf(request);
    if (userId !== undefined) return userId;
    throw new UnauthorizedException('The request has no valid guest token. Send one in "Authorization: Bearer …".');
  }
}
