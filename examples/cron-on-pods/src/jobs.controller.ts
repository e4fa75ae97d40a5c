import { Controller, Get, NotFoundException, Param, Post } from '@nestjs/common';
import { ScheduledLockService } from 'luanest/scheduled-lock';

const NAMES = ['report', 'export'];

@Controller('jobs')
export class JobsController {
  constructor(private readonly locks: ScheduledLockService) {}

  /** The last ticks on all pods, the newest first. */
  @Get(':name')
  async history(@Param('name') name: string) {
    const ticks = await this.locks.history(checked(name));
    return ticks.map(({ status, slot, durationMs, node }) => ({
      slot: new Date(slot).toISOString(),
      status,
      node,
      durationMs,
    }));
  }

  /** Runs a job now, unless a pod runs it already. */
  @Post(':name')
  async run(@Param('name') name: string): Promise<{ status: string }> {
    const { status } = await this.locks.runNow(checked(name));
    return { status };
  }
}

function checked(name: string): string {
  if (!NAMES.includes(name)) throw new NotFoundException(`Jobs: ${NAMES.join(', ')}`);
  return name;
}
