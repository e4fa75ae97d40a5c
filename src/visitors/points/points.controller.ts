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
import { ReadRewardService, type RecordStatus } from 'luanest/read-reward';
import { type ActivityState, RedPacketService } from 'luanest/red-packet';
import { GuestTokens } from '../identity/guest-tokens';
import { RainsService } from '../rains/rains.service';
import { JOIN_RULE } from './join.rule';

/** States in which a guest can tap; who taps at the last packet finds it sold out. */
const OPEN: ReadonlySet<ActivityState> = new Set(['open', 'sold-out']);

/** A visitor's points of today. */
export interface Points {
  readonly points: number;
  /** Rains of today that would still bring one. */
  readonly remaining: number;
  /** When the day is over, ms since the epoch. */
  readonly resetsAt: number | null;
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

  /** The guest's points. */
  @Get()
  async mine(@Req() request: object): Promise<Points> {
    const [status] = await this.rewards.status(this.guest(request));
    const { points = 0, remaining = 0, resetsAt = null } = status ?? {};
    return { points, remaining, resetsAt };
  }

  /** The guest takes part in a rain that is open, or has a packet of it; a rain counts once a day. */
  @Post(':activityId')
  @HttpCode(200)
  @UseGuards(RateLimitGuard)
  @RateLimit({ name: 'joins', limit: 600, windowMs: 60_000 })
  async join(
    @Param('activityId') activityId: string,
    @Req() request: object,
  ): Promise<Points & { readonly status: RecordStatus }> {
    const userId = this.guest(request);
    const rain = await this.rains.sight(activityId);
    if (rain === undefined) throw new NotFoundException('There is no such rain. It may have expired.');
    if (!OPEN.has(rain.state) && (await this.packets.packetOf(activityId, userId)) === undefined) {
      throw new ConflictException('The rain is not open. Points are for rains that a guest takes part in.');
    }
    const { status } = await this.rewards.record({ rule: JOIN_RULE, userId, itemId: activityId });
    return { status, ...(await this.mine(request)) };
  }

  private guest(request: object): string {
    const userId = this.tokens.userOf(request);
    if (userId !== undefined) return userId;
    throw new UnauthorizedException(
      'Nobody is known by this request. Send a guest token in "Authorization: Bearer …".',
    );
  }
}
