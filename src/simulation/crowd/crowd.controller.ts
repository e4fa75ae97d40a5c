import { Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { DelayedTaskService } from 'luanest/delayed-task';
import { Idempotent } from 'luanest/once';
import { refusal } from '../../platform/refusal.filter';
import { AdminGuard } from '../../visitors/identity/admin.guard';
import { CrowdService } from './crowd.service';
import { CROWD_TASK } from './crowd.tasks';

const DAY_MS = 86_400_000;
const INVALID = 'INVALID_CROWD';

interface CrowdAnswer {
  readonly started: boolean;
  /** Time at which the start is due, ms since 1970 by Redis' clock; missing if the crowd has started. */
  readonly runAtMs?: number;
}

/** Route that starts simulated crowds, for operators. */
@Controller('rains')
@UseGuards(AdminGuard)
export class CrowdController {
  constructor(
    private readonly crowds: CrowdService,
    private readonly tasks: DelayedTaskService,
  ) {}

  /**
   * Starts a crowd now or later. Body: `users` (1 to 100,000), `taps` of each user (1 to 10, default 3), `hammers` (further users
   * who tap without pause, 0 to 10, default 0), `delayMs` (0 to a day, default 0: now). 409 if a crowd is to start now and
   * `CrowdService.canStart` is false.
   */
  @Post(':activityId/crowd')
  @HttpCode(202)
  @Idempotent()
  async start(@Param('activityId') activityId: string, @Body() body: unknown): Promise<CrowdAnswer> {
    const { users, taps = 3, hammers = 0, delayMs = 0 } = (body ?? {}) as Record<string, unknown>;
    if (!/^[\w-]{1,64}$/.test(activityId)) {
      throw refusal(400, INVALID, 'A crowd needs an activity whose id is 1 to 64 letters, digits, "_" and "-".');
    }
    const crowd = {
      activityId,
      users: integer('users', users, 1, 100_000),
      taps: integer('taps', taps, 1, 10),
      hammers: integer('hammers', hammers, 0, 10),
    };
    const wait = integer('delayMs', delayMs, 0, DAY_MS);
    if (wait > 0) {
      const { runAtMs } = await this.tasks.schedule(CROWD_TASK, crowd, { delayMs: wait });
      return { started: false, runAtMs };
    }
    this.crowds.start(crowd);
    return { started: true };
  }
}

function integer(name: string, value: unknown, least: number, most: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw refusal(400, INVALID, `${name} is ${JSON.stringify(value)}. Expected an integer from ${least} to ${most}.`);
}
