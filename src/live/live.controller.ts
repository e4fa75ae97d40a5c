import { Controller, Get, Param, Sse, UseGuards } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { AdminGuard } from '../identity/admin.guard';
import { LiveService, type LiveView } from './live.service';

/** What visitors and operators ask about rains beside the packets themselves. */
@Controller('rains')
export class LiveController {
  constructor(private readonly live: LiveService) {}

  /** The rain to take part in; null when there is none. */
  @Get('latest')
  async latest(): Promise<{ readonly activityId: string | null }> {
    return { activityId: (await this.live.latest()) ?? null };
  }

  /** A view of a rain twice a second, as server-sent events (admin). */
  @Sse(':activityId/live')
  @UseGuards(AdminGuard)
  watch(@Param('activityId') activityId: string): Observable<{ readonly data: LiveView }> {
    return this.live.watch(activityId).pipe(map((data) => ({ data })));
  }
}
