import { Injectable } from '@nestjs/common';
import { DelayedTask, retryLater, type RetryLater } from 'luanest/delayed-task';
import { type CrowdOptions, CrowdService } from './crowd.service';

/** Name of the tasks that start a crowd. */
export const CROWD_TASK = 'rain.crowd';

const AGAIN_MS = 1_000;

/** Starts scheduled crowds, on the process that takes the task. */
@Injectable()
export class CrowdTasks {
  constructor(private readonly crowds: CrowdService) {}

  /** Runs at least once. A crowd that runs twice is harmless: a user wins one packet, however often they tap. */
  @DelayedTask(CROWD_TASK)
  start(crowd: CrowdOptions): RetryLater | undefined {
    if (!this.crowds.canStart) return retryLater({ delayMs: AGAIN_MS });
    this.crowds.start(crowd);
    return undefined;
  }
}
