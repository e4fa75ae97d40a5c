import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { answer, found, readLimit, refused } from './http-errors';
import { RedPacketAdminGuard, RedPacketGrabGuard } from './red-packet.guard';
import { RedPacketIdempotency } from './red-packet.interceptor';
import { parseMoney, refuse } from './red-packet.input';
import type { ResolvedRedPacketOptions } from './red-packet.options';
import { RedPacketService } from './red-packet.service';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';
import type { AuditReport } from './audit/audit.types';
import type {
  ActivityState,
  ActivityStatus,
  ClosedActivity,
  CreateActivity,
  CreatedActivity,
  GrabResult,
  GrantRecord,
  Packet,
  RecordsPage,
  ResultsPage,
} from './red-packet.types';

const FIELDS = [
  'activityId',
  'total',
  'totalCents',
  'packets',
  'minCents',
  'maxCents',
  'split',
  'amounts',
  'seed',
  'startsAtMs',
  'endsAtMs',
  'maxTries',
  'buckets',
];

/** HTTP for red packets. Who grabs is told by the app's `identity`, never by the request's body. */
@Controller('red-packets')
export class RedPacketController {
  constructor(
    private readonly packets: RedPacketService,
    @Inject(RED_PACKET_OPTIONS) private readonly options: ResolvedRedPacketOptions,
  ) {}

  /** Creates an activity (admin). Body: as `CreateActivity`, with total "10000.00" or totalCents. */
  @Post()
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  create(@Body() body: unknown): Promise<CreatedActivity> {
    return answer(() => this.packets.create(readActivity(body)));
  }

  /** Grabs a packet for the user of the request. */
  @Post(':activityId/grab')
  @HttpCode(200)
  @UseGuards(RedPacketGrabGuard)
  grab(@Param('activityId') activityId: string, @Req() request: unknown): Promise<GrabResult> {
    const userId = this.options.identity(request);
    // Most resolvers answer at once, and a promise less a request shows.
    if (typeof userId === 'string' && userId !== '') return this.packets.grab(activityId, userId).catch(refused);
    return this.identified(userId).then((known) => this.packets.grab(activityId, known).catch(refused));
  }

  /** Where an activity stands. */
  @Get(':activityId')
  async status(@Param('activityId') activityId: string): Promise<ActivityStatus> {
    return found(activityId, await answer(() => this.packets.status(activityId)));
  }

  /** The packet of the request's user; 404 where he has none. */
  @Get(':activityId/mine')
  async mine(@Param('activityId') activityId: string, @Req() request: unknown): Promise<Packet> {
    const userId = await this.identified(this.options.identity(request));
    const packet = await answer(() => this.packets.packetOf(activityId, userId));
    if (!packet) throw new NotFoundException('This user has no packet of the activity.');
    return packet;
  }

  /** What the other winners got, for a winner; query `cursor?`, `limit?` (1 to 1,000); 404 for users without a packet. */
  @Get(':activityId/results')
  async results(
    @Param('activityId') activityId: string,
    @Req() request: unknown,
    @Query('cursor') cursor?: string,
    @Query('limit') limit?: string,
  ): Promise<ResultsPage> {
    const userId = await this.identified(this.options.identity(request));
    const page = await answer(() =>
      this.packets.results(activityId, userId, { cursor, limit: limit === undefined ? undefined : readLimit(limit) }),
    );
    if (!page) throw new NotFoundException('This user has no packet of the activity.');
    return page;
  }

  /** The largest packet granted so far (admin). */
  @Get(':activityId/luckiest')
  @UseGuards(RedPacketAdminGuard)
  async luckiest(@Param('activityId') activityId: string): Promise<GrantRecord> {
    const grant = await answer(() => this.packets.luckiest(activityId));
    if (!grant) throw new NotFoundException('Nobody has a packet of this activity yet.');
    return grant;
  }

  /** Refuses grabs until they are resumed (admin). */
  @Post(':activityId/pause')
  @HttpCode(200)
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  async pause(@Param('activityId') activityId: string): Promise<{ readonly state: ActivityState }> {
    return { state: found(activityId, await answer(() => this.packets.pause(activityId))) };
  }

  /** Takes grabs again (admin). */
  @Post(':activityId/resume')
  @HttpCode(200)
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  async resume(@Param('activityId') activityId: string): Promise<{ readonly state: ActivityState }> {
    return { state: found(activityId, await answer(() => this.packets.resume(activityId))) };
  }

  /** Closes the activity and refunds what is left (admin). */
  @Post(':activityId/close')
  @HttpCode(200)
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  async close(@Param('activityId') activityId: string): Promise<ClosedActivity> {
    return found(activityId, await answer(() => this.packets.close(activityId)));
  }

  /** Checks the books (admin); query `deep=true` counts all records. */
  @Get(':activityId/audit')
  @UseGuards(RedPacketAdminGuard)
  async audit(@Param('activityId') activityId: string, @Query('deep') deep?: string): Promise<AuditReport> {
    return found(
      activityId,
      await answer(() => this.packets.audit(activityId, { deep: deep === undefined ? false : readFlag('deep', deep) })),
    );
  }

  /** A page of grants (admin). */
  @Get(':activityId/records')
  @UseGuards(RedPacketAdminGuard)
  records(
    @Param('activityId') activityId: string,
    @Query('cursor') cursor?: string,
    @Query('limit') limit?: string,
  ): Promise<RecordsPage> {
    return answer(() =>
      this.packets.records(activityId, { cursor, limit: limit === undefined ? undefined : readLimit(limit) }),
    );
  }

  private async identified(userId: string | null | undefined | Promise<string | null | undefined>): Promise<string> {
    const known = await userId;
    if (known !== undefined && known !== null && known !== '') return known;
    throw new UnauthorizedException('Nobody is known by this request. Send what the app identifies users by.');
  }
}

function readFlag(name: string, text: unknown): boolean {
  return text === 'true' || (text !== 'false' && refuse(name, text, 'Give true or false.'));
}

function readActivity(body: unknown): CreateActivity {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    refuse('body', body, `Give an object with ${FIELDS.join(', ')}.`);
  const fields = body as Record<string, unknown>;
  const unknown = Object.keys(fields).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) refuse(unknown, fields[unknown], `There is no such field. Known: ${FIELDS.join(', ')}.`);
  const { total, ...activity } = fields;
  if (total === undefined) return activity as unknown as CreateActivity;
  if (activity['totalCents'] !== undefined) refuse('total', total, 'Give total or totalCents, not both.');
  return { ...activity, totalCents: parseMoney('total', total) } as unknown as CreateActivity;
}
