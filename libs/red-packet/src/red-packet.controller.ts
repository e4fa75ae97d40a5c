import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Get,
  HttpCode,
  Inject,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  ServiceUnavailableException,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { ActivityConflictError, InvalidRedPacketInputError } from './red-packet.errors';
import { RedPacketAdminGuard } from './red-packet.guard';
import { parseMoney, refuse } from './red-packet.input';
import type { ResolvedRedPacketOptions } from './red-packet.options';
import { RedPacketService } from './red-packet.service';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';
import type { ActivityStatus, CreateActivity, CreatedActivity, GrabResult, RecordsPage } from './red-packet.types';

const FIELDS = ['activityId', 'total', 'totalCents', 'packets', 'minCents', 'maxCents'];

/** HTTP for red packets. Who grabs is told by the app's `identity`, never by the request's body. */
@Controller('red-packets')
export class RedPacketController {
  constructor(
    private readonly packets: RedPacketService,
    @Inject(RED_PACKET_OPTIONS) private readonly options: ResolvedRedPacketOptions,
  ) {}

  /** Creates an activity (admin). Body: activityId, total "10000.00" or totalCents, packets, minCents?, maxCents?. */
  @Post()
  @UseGuards(RedPacketAdminGuard)
  create(@Body() body: unknown): Promise<CreatedActivity> {
    return answer(() => this.packets.create(readActivity(body)));
  }

  /** Grabs a packet for the user of the request. */
  @Post(':activityId/grab')
  @HttpCode(200)
  async grab(@Param('activityId') activityId: string, @Req() request: unknown): Promise<GrabResult> {
    const userId = await this.options.identity(request);
    if (userId === undefined)
      throw new UnauthorizedException('Nobody is known by this request. Send what the app identifies users by.');
    return answer(() => this.packets.grab(activityId, userId));
  }

  /** Where an activity stands. */
  @Get(':activityId')
  async status(@Param('activityId') activityId: string): Promise<ActivityStatus> {
    const status = await answer(() => this.packets.status(activityId));
    if (!status)
      throw new NotFoundException(`There is no activity ${JSON.stringify(activityId)}. It may have expired.`);
    return status;
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
}

function readLimit(text: string): number {
  return /^\d{1,4}$/.test(text) ? Number(text) : refuse('limit', text, 'Give an integer of 1 to 1000.');
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

/** Runs the service and says in HTTP what it says in errors of its own. */
async function answer<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InvalidRedPacketInputError) throw new BadRequestException(error.message, { cause: error });
    if (error instanceof ActivityConflictError) throw new ConflictException(error.message, { cause: error });
    if (error instanceof NotSentError || error instanceof ScriptRefusedError || error instanceof UnknownOutcomeError) {
      // Redis' own words stay in the cause; a repeat is safe, since every call here answers a replay as it did at first.
      throw new ServiceUnavailableException('Redis did not answer. Send the request again.', { cause: error });
    }
    throw error;
  }
}
