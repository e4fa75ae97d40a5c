import { Controller, Get, HttpCode, NotFoundException, Param, Post, Sse, UseGuards } from '@nestjs/common';
import { LockBusyError } from 'luanest/lock';
import { map, type Observable } from 'rxjs';
import type { ActivityStatus } from 'luanest/red-packet';
import { AdminGuard } from '../../visitors/identity/admin.guard';
import { RedisClock } from '../../platform/redis-clock';
import { refusal } from '../../platform/refusal.filter';
import type { CountRecord } from '../audit/count-records';
import { CountService } from '../audit/count.service';
import { LedgerUnavailableError } from '../../ledger/ledger-reader';
import { LiveService, type LiveView } from './live.service';
import { RainsService, type RainSight } from '../../visitors/rains/rains.service';

const COUNT_WAIT_MS = 5_000;

/** Routes about rains, for visitors and operators. The routes that grab packets are in `RedPacketController`. */
@Controller('rains')
export class LiveController {
  constructor(
    private readonly live: LiveService,
    private readonly rains: RainsService,
    private readonly counts: CountService,
    private readonly clock: RedisClock,
  ) {}

  /** Lists up to 50 rains, the newest first, and Redis' time, by which rains begin and end (admin). */
  @Get()
  @UseGuards(AdminGuard)
  async list(): Promise<{ readonly redisNowMs: number; readonly rains: readonly ActivityStatus[] }> {
    const rains = await this.rains.list();
    return { redisNowMs: this.clock.nowMs(), rains };
  }

  /** Returns the rain to take part in: the newest that is not over, else the newest; null if there are no rains. */
  @Get('latest')
  async latest(): Promise<{ readonly activityId: string | null; readonly rain: RainSight | null }> {
    const rain = (await this.rains.latest()) ?? null;
    return { activityId: rain?.activityId ?? null, rain };
  }

  /** Returns a rain as visitors see it, with the time until it opens and ends, by Redis' clock. */
  @Get(':activityId')
  async sight(@Param('activityId') activityId: string): Promise<RainSight> {
    return found(await this.rains.sight(activityId));
  }

  /** Counts all records of a rain (admin). Responds with 409 if another count is still in flight after 5 s. */
  @Post(':activityId/count')
  @HttpCode(200)
  @UseGuards(AdminGuard)
  async count(@Param('activityId') activityId: string): Promise<CountRecord> {
    try {
      return found(await this.counts.count(activityId, COUNT_WAIT_MS));
    } catch (error) {
      if (error instanceof LockBusyError) {
        throw refusal(409, 'COUNT_RUNNING', 'Another count is in flight. Try again when it has ended.', error);
      }
      if (error instanceof LedgerUnavailableError) throw refusal(503, error.code, error.message, error);
      throw error;
    }
  }

  /** Sends a view of a rain up to twice a second, as server-sent events, until Redis has no such rain (admin). */
  @Sse(':activityId/live')
  @UseGuards(AdminGuard)
  watch(@Param('activityId') activityId: string): Observable<{ readonly data: LiveView }> {
    return this.live.watch(activityId).pipe(map((data) => ({ data })));
  }
}

/** @throws {NotFoundException} if the rain does not exist */
function found<T>(value: T | undefined): T {
  if (value !== undefined) return value;
  throw new NotFoundException('There is no such rain. It may have expired.');
}
