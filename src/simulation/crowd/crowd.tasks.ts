import { Injectable } from '@nestjs/common';
import { DelayedTask, retryLater, type RetryLater } from 'luanest/delayed-task';
import { type CrowdOptions, CrowdService } from './crowd.service';

/** Name of the tasks that start a crowd. */
export const CROWD_TASK = 'rain.crowd';

const AGAIN_MS = 1_000;

/** Starts scheduled crowds, in the process that runs the task. */
@Injectable()
export class CrowdTasks {
  constructor(private readonly crowds: CrowdService) {}

  /** Starts a crowd. A task may run twice. A second crowd is harmless, because a rain stays right with any number of users. */
  @DelayedTask(CROWD_TASK)
  start(crowd: CrowdOptions): RetryLater | undefined {
    if (!this.crowds.canStart) return retryLater({ delayMs: AGAIN_MS });
    this.crowds.start(crowd);
    return undefined;
  }
}
