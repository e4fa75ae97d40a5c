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
import { shown, type Page } from '../../internal/src';
import { answer, found, readLimit, refused } from './http-errors';
import { RedPacketAdminGuard, RedPacketGrabGuard } from './red-packet.guard';
import { RedPacketIdempotency } from './red-packet.interceptor';
import { check, parseMoney, refuse } from './red-packet.input';
import type { ResolvedRedPacketModuleOptions } from './red-packet.options';
import { RedPacketService } from './red-packet.service';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';
import type { AuditResult } from './audit/audit.types';
import type {
  ActivityState,
  ActivityStatus,
  CloseResult,
  CreateActivity,
  CreateResult,
  GrabResult,
  Grant,
  Packet,
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
  'startsAtMs',
  'endsAtMs',
  'maxTries',
  'buckets',
];

/** HTTP routes of red packets. The option `identity` returns the user of a request. The body of a grab is ignored. */
@Controller('red-packets')
export class RedPacketController {
  constructor(
    private readonly packets: RedPacketService,
    @Inject(RED_PACKET_OPTIONS) private readonly options: ResolvedRedPacketModuleOptions,
  ) {}

  /**
   * Creates an activity (admin). Body: the fields of `CreateActivity`. Instead of `totalCents`, it may have `total`, such as
   * "10000.00".
   */
  @Post()
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  create(@Body() body: unknown): Promise<CreateResult> {
    return answer(() => this.packets.create(readActivity(body)));
  }

  /** Grabs a packet for the user of the request. */
  @Post(':activityId/grab')
  @HttpCode(200)
  @UseGuards(RedPacketGrabGuard)
  grab(@Param('activityId') activityId: string, @Req() request: unknown): Promise<GrabResult> {
    const userId = this.options.identity(request);
    // The option `identity` usually returns the id itself, not a promise. For speed, such an id skips the async `identified`.
    if (typeof userId === 'string' && userId !== '') return this.packets.grab(activityId, userId).catch(refused);
    return this.identified(userId).then((known) => this.packets.grab(activityId, known).catch(refused));
  }

  /** Reads the state and the counters of an activity. */
  @Get(':activityId')
  async status(@Param('activityId') activityId: string): Promise<ActivityStatus> {
    return found(activityId, await answer(() => this.packets.status(activityId)));
  }

  /** Reads the packet of the request's user; 404 if the user has none. */
  @Get(':activityId/mine')
  async mine(@Param('activityId') activityId: string, @Req() request: unknown): Promise<Packet> {
    const userId = await this.identified(this.options.identity(request));
    const packet = await answer(() => this.packets.packetOf(activityId, userId));
    if (!packet) throw new NotFoundException('This user has no packet of the activity.');
    return packet;
  }

  /** Lists the packets of all winners; query `cursor?`, `limit?` (1 to 1,000). Only for winners: 404 for users without a packet. */
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

  /** Reads the largest packet granted so far (admin); 404 before the first grant. */
  @Get(':activityId/luckiest')
  @UseGuards(RedPacketAdminGuard)
  async luckiest(@Param('activityId') activityId: string): Promise<Grant> {
    const grant = await answer(() => this.packets.luckiest(activityId));
    if (!grant)
      throw new NotFoundException('There is no activity with this id, or none of its packets was granted yet.');
    return grant;
  }

  /** Pauses grabs (admin). A draft (unfinished activity) and a closed activity stay as they are. */
  @Post(':activityId/pause')
  @HttpCode(200)
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  async pause(@Param('activityId') activityId: string): Promise<{ readonly state: ActivityState }> {
    return { state: found(activityId, await answer(() => this.packets.pause(activityId))) };
  }

  /** Resumes grabs (admin). A draft (unfinished activity) and a closed activity stay as they are. */
  @Post(':activityId/resume')
  @HttpCode(200)
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  async resume(@Param('activityId') activityId: string): Promise<{ readonly state: ActivityState }> {
    return { state: found(activityId, await answer(() => this.packets.resume(activityId))) };
  }

  /** Closes an activity and refunds the packets that are left (admin). */
  @Post(':activityId/close')
  @HttpCode(200)
  @UseGuards(RedPacketAdminGuard)
  @UseInterceptors(RedPacketIdempotency)
  async close(@Param('activityId') activityId: string): Promise<CloseResult> {
    return found(activityId, await answer(() => this.packets.close(activityId)));
  }

  /** Audits an activity (admin); query `deep=true` counts all records. */
  @Get(':activityId/audit')
  @UseGuards(RedPacketAdminGuard)
  async audit(@Param('activityId') activityId: string, @Query('deep') deep?: string): Promise<AuditResult> {
    return found(
      activityId,
      await answer(() => this.packets.audit(activityId, { deep: deep === undefined ? false : readFlag('deep', deep) })),
    );
  }

  /** Lists grants (admin); query `cursor?`, `limit?` (1 to 1,000). */
  @Get(':activityId/records')
  @UseGuards(RedPacketAdminGuard)
  records(
    @Param('activityId') activityId: string,
    @Query('cursor') cursor?: string,
    @Query('limit') limit?: string,
  ): Promise<Page<Grant>> {
    return answer(() =>
      this.packets.records(activityId, { cursor, limit: limit === undefined ? undefined : readLimit(limit) }),
    );
  }

  private async identified(userId: string | null | undefined | Promise<string | null | undefined>): Promise<string> {
    const known = await userId;
    if (known !== undefined && known !== null && known !== '') return known;
    throw new UnauthorizedException('Unauthorized: the request has no authenticated user. Log in, and send it again.');
  }
}

function readFlag(name: string, text: unknown): boolean {
  return text === 'true' || (text !== 'false' && refuse(name, text, 'true or false'));
}

function readActivity(body: unknown): CreateActivity {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    refuse(
      'body',
      body,
      `a JSON object with activityId, packets, and total or totalCents. All fields: ${FIELDS.join(', ')}`,
    );
  const fields = body as Record<string, unknown>;
  const unknown = Object.keys(fields).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) {
    throw check.error(`The body has an unknown field ${shown(unknown)}. Known fields: ${FIELDS.join(', ')}.`);
  }
  const { total, ...activity } = fields;
  if (total === undefined) return activity as unknown as CreateActivity;
  if (activity['totalCents'] !== undefined) refuse('total', total, 'no total, because the body has totalCents');
  return { ...activity, totalCents: parseMoney('total', total) } as unknown as CreateActivity;
}
