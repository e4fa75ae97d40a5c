import { BadRequestException, Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { AdminGuard } from '../identity/admin.guard';
import { CrowdService } from './crowd.service';

/** Lets a simulated crowd loose on a rain, for operators. */
@Controller('rains')
@UseGuards(AdminGuard)
export class CrowdController {
  constructor(private readonly crowds: CrowdService) {}

  /** Body: users (1 to 100,000), taps of each (1 to 10, default 3). */
  @Post(':activityId/crowd')
  @HttpCode(202)
  start(@Param('activityId') activityId: string, @Body() body: unknown): { readonly started: true } {
    const { users, taps = 3 } = (body ?? {}) as { users?: unknown; taps?: unknown };
    if (!/^[\w-]{1,64}$/.test(activityId)) {
      throw new BadRequestException('A crowd finds activities whose id is 1 to 64 letters, digits, "_" and "-".');
    }
    this.crowds.start({ activityId, users: integer('users', users, 100_000), taps: integer('taps', taps, 10) });
    return { started: true };
  }
}

function integer(name: string, value: unknown, most: number): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return value as number;
  throw new BadRequestException(`${name} is ${JSON.stringify(value)}. Give an integer of 1 to ${most}.`);
}
